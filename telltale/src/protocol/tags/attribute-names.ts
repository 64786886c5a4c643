import { createNameTrie, stepTrie } from './name-trie.ts';

/** What a tag of the protocol may carry. The index is the attribute's code; 0 is any other name. */
export const ATTRIBUTE_NAMES = [
  '',
  'type',
  'mode',
  'id',
  'key',
  'test',
  'in',
  'as',
  'final',
  'name',
  'output_key',
  'depends_on',
  'timeout',
  'retry',
  'on_error',
  'literal',
] as const;

export const OTHER = 0;
export const TYPE = 1;
export const MODE = 2;
export const ID = 3;
export const KEY = 4;
export const TEST = 5;
export const IN = 6;
export const AS = 7;
export const FINAL = 8;
export const NAME = 9;
export const OUTPUT_KEY = 10;
export const DEPENDS_ON = 11;
export const TIMEOUT = 12;
export const RETRY = 13;
export const ON_ERROR = 14;
export const LITERAL = 15;

const { table, ends } = createNameTrie(ATTRIBUTE_NAMES);

export function nextAttributeNode(node: number, c: number): number {
  return stepTrie(table, node, c);
}

export function attributeCode(node: number): number {
  return ends[node] ?? OTHER;
}
