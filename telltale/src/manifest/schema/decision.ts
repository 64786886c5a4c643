import { z } from 'zod';
import { cel, celOrBoolean } from './cel.ts';
import { choice } from './choice.ts';
import { invocation } from './invocation.ts';
import { isMap } from './is-map.ts';
import { name, nonEmptyText } from './names.ts';
import { flag } from './numbers.ts';

const askedTest = invocation(
  'TestInvocation',
  flag('The value when the artifact is missing, fails or is too slow.'),
);
const askedPrompt = invocation(
  'PromptInvocation',
  nonEmptyText('The prompt that counts when the artifact is missing, fails or is too slow.'),
);

/** A yes or no: CEL, or an invocation whose fallback is true or false. */
export function test(description: string) {
  const expression = cel(description);
  const constant = celOrBoolean(description);
  return choice([expression, constant, askedTest], (value) =>
    isMap(value) ? askedTest : typeof value === 'boolean' ? constant : expression,
  ).register(z.globalRegistry, { description });
}

/** Text for a model: written here, or made by an invocation whose fallback is text. */
function prompt(description: string) {
  const written = nonEmptyText(description);
  return choice([written, askedPrompt], (value) => (isMap(value) ? askedPrompt : written)).register(
    z.globalRegistry,
    { description },
  );
}

/** The keys of a prompt: the text, or the artifact that holds it. */
export const promptKeys = (description: string) => ({
  prompt: prompt(description).optional(),
  prompt_artifact_id: name('An artifact whose source is the prompt, instead of "prompt".').optional(),
});

export const PROMPT_KEYS = ['prompt', 'prompt_artifact_id'] as const;
