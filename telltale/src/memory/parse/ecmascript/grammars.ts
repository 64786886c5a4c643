import { visitBlock, visitBody } from '../enter-body.ts';
import type { Grammar, Visit } from '../grammar.ts';
import { visitFunction, visitMethod } from './callables.ts';
import { visitCall, visitDecorator, visitElement, visitNew } from './calls.ts';
import { visitAssignment, visitScriptVariable } from './commonjs.ts';
import { mendTypescript } from './mend.ts';
import { visitExport, visitImport } from './modules.ts';
import {
  visitAmbient,
  visitClass,
  visitClassExpression,
  visitEnum,
  visitField,
  visitInterface,
  visitNamespace,
  visitStatements,
  visitTypeAlias,
} from './types.ts';
import { visitVariable, visitVariables } from './variables.ts';

const SCRIPT: Readonly<Record<string, Visit>> = {
  function_declaration: visitFunction,
  generator_function_declaration: visitFunction,
  method_definition: visitMethod,
  class_declaration: visitClass,
  class: visitClassExpression,
  class_body: visitBody,
  field_definition: visitField,
  statement_block: visitStatements,
  for_statement: visitBlock,
  switch_body: visitBlock,
  lexical_declaration: visitVariables,
  variable_declaration: visitVariables,
  variable_declarator: visitVariable,
  import_statement: visitImport,
  export_statement: visitExport,
  call_expression: visitCall,
  new_expression: visitNew,
  decorator: visitDecorator,
};

const ELEMENTS: Readonly<Record<string, Visit>> = {
  jsx_opening_element: visitElement,
  jsx_self_closing_element: visitElement,
};

const TYPED: Readonly<Record<string, Visit>> = {
  ...SCRIPT,
  function_signature: visitFunction,
  method_signature: visitMethod,
  abstract_method_signature: visitMethod,
  abstract_class_declaration: visitClass,
  public_field_definition: visitField,
  property_signature: visitField,
  interface_declaration: visitInterface,
  interface_body: visitBody,
  object_type: visitBody,
  type_alias_declaration: visitTypeAlias,
  enum_declaration: visitEnum,
  internal_module: visitNamespace,
  module: visitNamespace,
  ambient_declaration: visitAmbient,
};

export const TYPESCRIPT: Grammar = {
  wasm: 'tree-sitter-typescript.wasm',
  visits: TYPED,
  mend: mendTypescript,
};
export const TSX: Grammar = { wasm: 'tree-sitter-tsx.wasm', visits: { ...TYPED, ...ELEMENTS } };
export const JAVASCRIPT: Grammar = {
  wasm: 'tree-sitter-javascript.wasm',
  visits: {
    ...SCRIPT,
    ...ELEMENTS,
    assignment_expression: visitAssignment,
    variable_declarator: visitScriptVariable,
  },
};
