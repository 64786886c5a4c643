import { visitBlock, visitBody } from '../enter-body.ts';
import type { Grammar, Visit } from '../grammar.ts';
import { visitCall, visitMacro, visitStructLiteral, visitTokens } from './calls.ts';
import {
  visitConstant,
  visitEnum,
  visitField,
  visitFunction,
  visitImplementation,
  visitMacroDefinition,
  visitModule,
  visitStruct,
  visitTrait,
  visitType,
  visitVariant,
} from './declarations.ts';
import { visitCrate, visitUse } from './imports.ts';

const visitAttribute: Visit = (node, reading) => {
  reading.decorator(node);
};

export const RUST: Grammar = {
  wasm: 'tree-sitter-rust.wasm',
  visits: {
    function_item: visitFunction,
    function_signature_item: visitFunction,
    struct_item: visitStruct,
    union_item: visitStruct,
    field_declaration_list: visitBody,
    field_declaration: visitField,
    enum_item: visitEnum,
    enum_variant_list: visitBody,
    enum_variant: visitVariant,
    trait_item: visitTrait,
    impl_item: visitImplementation,
    mod_item: visitModule,
    const_item: visitConstant,
    static_item: visitConstant,
    type_item: visitType,
    associated_type: visitType,
    macro_definition: visitMacroDefinition,
    block: visitBlock,
    attribute_item: visitAttribute,
    use_declaration: visitUse,
    extern_crate_declaration: visitCrate,
    call_expression: visitCall,
    macro_invocation: visitMacro,
    token_tree: visitTokens,
    struct_expression: visitStructLiteral,
  },
};
