import { cel, celOrBoolean } from './cel.ts';
import { choice } from './choice.ts';
import { invocation } from './invocation.ts';
import { isMap } from './is-map.ts';
import { name, nonEmptyText } from './names.ts';
import { flag } from './numbers.ts';

/** A yes or no: CEL, or an invocation whose fallback is true or false. */
export function test(description: string) {
  const expression = cel(description);
  const constant = celOrBoolean(description);
  const asked = invocation(flag('What counts when the artifact is missing, fails or is too slow.'));
  return choice([expression, constant, asked], (value) =>
    isMap(value) ? asked : typeof value === 'boolean' ? constant : expression,
  ).describe(description);
}

/** Text for a model: written here, or made by an invocation whose fallback is text. */
export function prompt(description: string) {
  const written = nonEmptyText(description);
  const asked = invocation(
    nonEmptyText('The prompt that counts when the artifact is missing, fails or is too slow.'),
  );
  return choice([written, asked], (value) => (isMap(value) ? asked : written)).describe(description);
}

/** The keys of a prompt: the text, or the artifact that holds it. */
export const promptKeys = (description: string) => ({
  prompt: prompt(description).optional(),
  prompt_artifact_id: name('An artifact whose source is the prompt, in place of "prompt".').optional(),
});

export const PROMPT_KEYS = ['prompt', 'prompt_artifact_id'] as const;
