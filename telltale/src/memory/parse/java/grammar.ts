import { visitBlock, visitBody } from '../enter-body.ts';
import type { Grammar } from '../grammar.ts';
import { visitAnnotation, visitCall, visitImport, visitNew } from './calls.ts';
import {
  visitClass,
  visitConstant,
  visitEnum,
  visitFields,
  visitInterface,
  visitMethod,
  visitRecord,
} from './declarations.ts';

export const JAVA: Grammar = {
  wasm: 'tree-sitter-java.wasm',
  visits: {
    class_declaration: visitClass,
    record_declaration: visitRecord,
    interface_declaration: visitInterface,
    annotation_type_declaration: visitInterface,
    enum_declaration: visitEnum,
    class_body: visitBody,
    interface_body: visitBody,
    annotation_type_body: visitBody,
    enum_body: visitBody,
    enum_constant: visitConstant,
    field_declaration: visitFields,
    constant_declaration: visitFields,
    method_declaration: visitMethod,
    constructor_declaration: visitMethod,
    compact_constructor_declaration: visitMethod,
    annotation_type_element_declaration: visitMethod,
    block: visitBlock,
    import_declaration: visitImport,
    method_invocation: visitCall,
    object_creation_expression: visitNew,
    marker_annotation: visitAnnotation,
    annotation: visitAnnotation,
  },
};
