import { isJsonObject, type JsonObject } from '../../kernel/json.ts';
import { suggest } from '../../kernel/nearest.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { compileViolation } from '../../targets/check-parameters.ts';
import { checkNotes } from './check-notes.ts';
import type { Task } from './task.ts';

/** What somebody who worked on a task sends to complete it, as it came. */
export interface SentClaim {
  readonly notes?: unknown;
  readonly context_updates?: unknown;
  readonly artifacts?: unknown;
}

const MAX_ARTIFACTS = 100;
/** Characters of JSON. */
const MAX_VALUES = 100_000;

/** Why a claim cannot be taken, whoever makes it; undefined where it can. Evidence is judged where the log is. */
export function checkClaim(
  task: Pick<Task, 'prompt' | 'requires' | 'accepts'>,
  sent: SentClaim,
): RuntimeError | undefined {
  return checkNotes(sent.notes, task.prompt) ?? checkUpdates(task, sent) ?? checkArtifacts(sent.artifacts);
}

function checkUpdates(
  { requires, accepts }: Pick<Task, 'requires' | 'accepts'>,
  { context_updates: updates = {} }: SentClaim,
): RuntimeError | undefined {
  if (!isJsonObject(updates)) return refused('"context_updates" is no object.', SHAPE);
  const known = [...Object.keys(requires), ...Object.keys(accepts)];
  for (const key of Object.keys(updates))
    if (!known.includes(key))
      return refused(
        `"context_updates" has the key "${key}", which nobody asks for.`,
        known.length === 0
          ? 'Leave "context_updates" out: this step takes none.'
          : suggest(key, known, 'Keys it takes'),
      );
  const missing = Object.keys(requires).filter((key) => !Object.hasOwn(updates, key));
  if (missing.length > 0)
    return refused(
      `"context_updates" lacks ${missing.map((key) => `"${key}"`).join(', ')}.`,
      missing.map((key) => `"${key}": ${JSON.stringify(requires[key])}`).join('; '),
    );
  for (const [key, value] of Object.entries(updates)) {
    const schema = requires[key] ?? accepts[key] ?? {};
    const found = compileViolation(wrapped(key, schema), `The schema of "${key}"`)({ [key]: value });
    if (found !== undefined)
      return refused(
        `"context_updates" is wrong: ${found.message}`,
        found.hint ?? `"${key}" must satisfy ${JSON.stringify(schema)}.`,
      );
  }
  if (JSON.stringify(updates).length > MAX_VALUES)
    return refused(`"context_updates" has more than ${MAX_VALUES} characters.`, TOO_LARGE);
  return undefined;
}

function checkArtifacts(artifacts: unknown): RuntimeError | undefined {
  if (artifacts === undefined) return undefined;
  if (!Array.isArray(artifacts)) return refused('"artifacts" is no list.', SHAPE);
  if (artifacts.length > MAX_ARTIFACTS)
    return refused(`"artifacts" has more than ${MAX_ARTIFACTS} entries.`, TOO_LARGE);
  return JSON.stringify(artifacts).length > MAX_VALUES
    ? refused(`"artifacts" has more than ${MAX_VALUES} characters.`, TOO_LARGE)
    : undefined;
}

const wrapped = (key: string, schema: JsonObject): JsonObject => ({
  type: 'object',
  properties: { [key]: schema },
});

const SHAPE = 'complete_step takes {"notes": "…", "context_updates": {…}, "artifacts": […]}.';
const TOO_LARGE = 'Put large results into files, and say where they are.';

const refused = (message: string, hint: string) =>
  new RuntimeError('claim_refused', `The step is not completed. ${message}`, { hint });
