import { expect, it } from 'vitest';
import { isOwnWords } from '../../src/prompt/text.ts';
import { FAULT_CODES } from '../../src/protocol/intents.ts';

it("every fault of the parser is told in the runtime's own words, and what may quote a tool is not", () => {
  expect(FAULT_CODES.filter((code) => !isOwnWords(code))).toEqual([]);
  for (const code of ['target_unknown', 'bad_output', 'variable_store', 'constructor', 'toString'])
    expect(isOwnWords(code), code).toBe(false);
});
