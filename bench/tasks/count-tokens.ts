import { createTokenizer } from '../../telltale/src/agent/tokenizer.ts';

/** Tokens of a text, by o200k. */
export const { count: countTokens } = await createTokenizer()();
