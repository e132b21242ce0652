// SPDX-License-Identifier: Apache-2.0
//
// Tokens. Every byte of any input becomes part of some token, so that the
// lexer itself never fails: what is wrong is said by dsl/Parser.
lexer grammar PenstockLexer;

channels { DOCS, REMARKS }

// Reserved words.
PIPELINE : 'pipeline';
FN       : 'fn';
CONST    : 'const';
FOR      : 'for';
IN       : 'in';
LET      : 'let';
RETURN   : 'return';
BATCH    : 'batch';
OUTPUT   : 'output';
MAP      : 'map';
WINDOW   : 'window';
EACH     : 'each';
CHOOSE   : 'choose';
REPEAT   : 'repeat';
SEARCH   : 'search';
DRAW     : 'draw';
IF       : 'if';
THEN     : 'then';
ELSE     : 'else';
AND      : 'and';
OR       : 'or';
NOT      : 'not';
OVER     : 'over';
ON       : 'on';
TRUE     : 'true';
FALSE    : 'false';

// Words with a meaning in one place, and names elsewhere (rule `name`).
PIPE   : 'pipe';
USE    : 'use';
WITH   : 'with';
WHERE  : 'where';
ORDER  : 'order';
PER    : 'per';
RANK   : 'rank';
GLOBAL : 'global';
LAST   : 'last';
ELEMENTS : 'elements';
BY     : 'by';
BUCKETS : 'buckets';
STORED : 'stored';
PAD    : 'pad';
RAGGED : 'ragged';
CPU    : 'cpu';
GPU    : 'gpu';
AUTO   : 'auto';
ACCEPT : 'accept';
WHEN   : 'when';

// Before `fn` and `const`, and a name elsewhere (dsl/Parser/Tokens tells).
PUB : 'pub';

LPAREN   : '(';
RPAREN   : ')';
LBRACK   : '[';
RBRACK   : ']';
LBRACE   : '{';
RBRACE   : '}';
COMMA    : ',';
COLON    : ':';
DOT      : '.';
RANGE_TO : '..';
RANGE_IN : '..=';
ASSIGN   : '=';
ARROW    : '->';
THUS     : '=>';
STAGE    : '|>';
EQ       : '==';
NE       : '!=';
LT       : '<';
LE       : '<=';
GT       : '>';
GE       : '>=';
PLUS     : '+';
MINUS    : '-';
STAR     : '*';
SLASH    : '/';
PERCENT  : '%';

// A unit is glued to its number; which units there are is Sema's business.
INT      : DIGITS;
FLOAT    : DIGITS '.' DIGITS EXPONENT? | DIGITS EXPONENT;
QUANTITY : NUMBER ('%' | LETTER (LETTER | DIGIT)*);
STRING   : '"' (~["\\\r\n] | '\\' ~[\r\n])* '"';
ID       : LETTER (LETTER | DIGIT)*;

RULER   : '////' ~[\r\n]* -> channel(REMARKS);
DOC     : '///' ~[\r\n]* -> channel(DOCS);
COMMENT : '//' ~[\r\n]* -> channel(REMARKS);
SPACE   : [ \t\r\n]+ -> skip;

// Tokens of other languages; none of these stands in the parser's grammar.
HASH_COMMENT    : '#' ~[\r\n]*;
BLOCK_COMMENT   : '/*' .*? '*/';
OPEN_STRING     : '"' (~["\\\r\n] | '\\' ~[\r\n])* '\\'?;
QUOTED_STRING   : '\'' ~['\r\n]* '\'';
SEMICOLON       : ';';
QUESTION        : '?';
BANG            : '!';
AND_AND         : '&&';
OR_OR           : '||';
POWER           : '**';
COMPOUND_ASSIGN : [+\-*/] '=';
UNKNOWN         : .;

fragment NUMBER   : DIGITS ('.' DIGITS)? EXPONENT?;
fragment EXPONENT : [eE] [+-]? DIGIT+;
fragment DIGITS   : DIGIT (DIGIT | '_')*;
fragment DIGIT    : [0-9];
fragment LETTER   : [A-Za-z_];
