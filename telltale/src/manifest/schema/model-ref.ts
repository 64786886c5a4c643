import { z } from 'zod';

const MODEL = /^(?:scripted:.+|[A-Za-z0-9][A-Za-z0-9_.-]*\/\S+)$/;
const MODEL_OR_ALIAS = /^(?:scripted:.+|[A-Za-z0-9][A-Za-z0-9_.-]*\/\S+|[A-Za-z_][A-Za-z0-9_-]*)$/;

export const modelRef = (description: string) =>
  z.string().regex(MODEL).register(z.globalRegistry, {
    description,
    expects: '"provider/model" (anthropic/claude-sonnet-4-5) or "scripted:FILE"',
  });

/** Where a name of the agent's `models` may stand too. */
export const modelRefOrAlias = (description: string) =>
  z.string().regex(MODEL_OR_ALIAS).register(z.globalRegistry, {
    description,
    expects: 'a name from the agent\'s "models", "provider/model" or "scripted:FILE"',
  });

/** Whether the text names a model by itself rather than an entry of `models`. */
export const isModelRef = (text: string): boolean => MODEL.test(text);
