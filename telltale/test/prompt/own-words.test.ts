import { expect, it } from 'vitest';
import { FAULT_CODES } from '../../src/parser/intents.ts';
import { isOwnWords } from '../../src/prompt/text.ts';

it("every fault of the parser is told in the runtime's own words, and what may quote a tool is not", () => {
  expect(FAULT_CODES.filter((code) => !isOwnWords(code))).toEqual([]);
  for (const code of ['target_unknown', 'bad_output', 'variable_store', 'constructor', 'toString'])
    expect(isOwnWords(code), code).toBe(false);
});
