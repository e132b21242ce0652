// SPDX-License-Identifier: Apache-2.0
//
// The grammar, layered by binding strength: no left recursion, and no decision
// that needs more context than the next two tokens (a test keeps it so).
// Every statement opens with a reserved word, so that a broken one can be left
// behind at the next.
parser grammar PenstockParser;

options { tokenVocab = PenstockLexer; }

file    : header useDecl* decl* EOF;
header  : 'pipe' INT;
useDecl : 'use' name (',' name)*;
decl    : constDecl | fnDecl | pipelineDecl;

constDecl : 'pub'? 'const' name (':' type)? '=' expr;

fnDecl  : 'pub'? 'fn' name generics? params '->' type ('=' expr | block);
generics : '[' generic (',' generic)* ','? ']';
generic : name ':' '(' name (',' name)* ','? ')';
params  : '(' (param (',' param)* ','?)? ')';
param   : name ':' type ('=' expr)?;

pipelineDecl : pipelineHead '{' letStmt* forHead letStmt* batchBlock '}';
pipelineHead : 'pipeline' name params ('with' setting (',' setting)* ','?)?;
forHead      : 'for' name 'in' expr ('where' expr)? ('order' expr)?;
batchBlock   : batchHead '{' batchItem* '}';
batchHead    : 'batch' (byLength | oper ('per' 'rank' | 'global')?) ('last' name)?;
byLength     : '<=' sum 'elements' 'by' oper 'buckets' sum;
batchItem    : letStmt | outputStmt;

letStmt     : 'let' name (':' type)? '=' expr;
returnStmt  : 'return' expr;
outputStmt  : 'output' name ':' type outputTrait* '=' expr;
outputTrait : 'stored' axes | 'pad' unary | 'ragged' | place;
place       : 'on' ('cpu' | 'gpu' | 'auto');
block       : '{' (expr | letStmt* returnStmt) '}';

// Expressions. `|>` binds weakest: never inside a branch or a trailing `if`.
expr       : choice ('|>' stage)*;
choice     : 'if' oper 'then' choice 'else' choice | oper;
oper       : conjunction ('or' conjunction)*;
conjunction : negation ('and' negation)*;
negation   : 'not' negation | comparison;
comparison : span (comparator span)?;
comparator : '==' | '!=' | '<' | '<=' | '>' | '>=' | 'in';
span       : sum (('..' | '..=') sum)?;
sum        : product (('+' | '-') product)*;
product    : unary (('*' | '/' | '%') unary)*;
unary      : '-' unary | scoped | atom postfix*;
postfix    : '.' name | args | index;
index      : '[' axisIndex (',' axisIndex)* ','? ']';
axisIndex  : name ('=' expr)?;

scoped : each | map | window | search | draw;
each   : 'each' '(' bind ')' block;
map    : 'map' '(' bind (',' bind)* ','? ')' block;
window : 'window' '(' bind (',' setting)+ ','? ')' block;
search : 'search' '(' expr ')' '{' letStmt* accept '}' 'else' unary;
accept : 'accept' expr 'when' expr;
draw   : 'draw' name args? ('per' axes)?;

args    : '(' (arg ('over' axes)? (',' arg)* ','?)? ')';
arg     : (name '=')? expr;
bind    : name 'in' expr;
setting : name '=' expr;
axes    : '[' name (',' name)* ','? ']';

atom    : INT | FLOAT | QUANTITY | STRING | 'true' | 'false' | name
        | record | list | group;
record  : '{' setting (',' setting)* ','? '}';
list    : '[' (expr (',' expr)* ','?)? ']';
group   : '(' expr ')';

stage       : stageBody ('if' oper)? place?;
stageBody   : callStage | chainGroup | chooseStage | repeatStage;
callStage   : name ('.' name)* args?;
chainGroup  : '{' chain '}';
chooseStage : 'choose' '{' arm (',' arm)* ','? '}';
arm         : oper '=>' chain;
repeatStage : 'repeat' '(' expr ')' chainGroup;
chain       : stage ('|>' stage)*;

type       : recordType | name axisTypes?;
axisTypes  : '[' (axisType (',' axisType)* ','?)? ']';
axisType   : name (('=' | '<=') sum)? (':' name)?;
recordType : '{' fieldType (',' fieldType)* ','? '}';
fieldType  : name ':' type;

name : ID | 'pipe' | 'use' | 'with' | 'where' | 'order' | 'per' | 'rank' | 'global'
     | 'last' | 'elements' | 'by' | 'buckets' | 'stored' | 'pad' | 'ragged' | 'cpu' | 'gpu' | 'auto'
     | 'accept' | 'when';
