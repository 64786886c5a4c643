import { visitBlock } from '../enter-body.ts';
import type { Grammar } from '../grammar.ts';
import { visitCall, visitDecorator } from './calls.ts';
import {
  visitAssignment,
  visitClass,
  visitDecorated,
  visitFunction,
  visitTypeAlias,
} from './declarations.ts';
import { visitFromImport, visitFutureImport, visitImport } from './imports.ts';

export const PYTHON: Grammar = {
  wasm: 'tree-sitter-python.wasm',
  visits: {
    decorated_definition: visitDecorated,
    class_definition: visitClass,
    function_definition: visitFunction,
    lambda: visitBlock,
    assignment: visitAssignment,
    type_alias_statement: visitTypeAlias,
    import_statement: visitImport,
    import_from_statement: visitFromImport,
    future_import_statement: visitFutureImport,
    call: visitCall,
    decorator: visitDecorator,
  },
};
