import { visitBlock } from '../enter-body.ts';
import type { Grammar, Visit } from '../grammar.ts';
import { visitCall, visitGenericCall, visitImport, visitLiteral } from './calls.ts';
import {
  visitField,
  visitFunction,
  visitMethod,
  visitMethodOfInterface,
  visitType,
  visitVariables,
} from './declarations.ts';

const visitGroup: Visit = (node, reading) => {
  reading.enter(node, 'wrapper');
};

export const GO: Grammar = {
  wasm: 'tree-sitter-go.wasm',
  visits: {
    function_declaration: visitFunction,
    method_declaration: visitMethod,
    block: visitBlock,
    type_declaration: visitGroup,
    const_declaration: visitGroup,
    var_declaration: visitGroup,
    type_spec: visitType,
    type_alias: visitType,
    const_spec: visitVariables,
    var_spec: visitVariables,
    field_declaration: visitField,
    method_elem: visitMethodOfInterface,
    import_spec: visitImport,
    call_expression: visitCall,
    composite_literal: visitLiteral,
    type_conversion_expression: visitGenericCall,
  },
};
