import { isJsonObject, type Json, type JsonObject } from '../../kernel/json.ts';
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

/** What WorkRail calls the parts of a claim. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  notesMarkdown: 'notes',
  contextUpdates: 'context_updates',
};

/** A claim under our names; an error where a part is given under two names with different values. */
export function claimWithOurNames(sent: JsonObject): JsonObject | RuntimeError {
  const claim: Record<string, Json> = {};
  for (const [key, value] of Object.entries(sent)) {
    const own = OTHER_NAMES[key] ?? key;
    const before = claim[own];
    if (before !== undefined && JSON.stringify(before) !== JSON.stringify(value))
      return refused(`"${own}" is given under two names, with different values.`, `Give "${own}" only.`);
    claim[own] = value;
  }
  return claim;
}

const MAX_ARTIFACTS = 100;
/** Mistakes in "context_updates" that are told. */
const MAX_PROBLEMS = 20;
/** Characters of JSON. */
const MAX_VALUES = 100_000;

/** Why a claim cannot be taken, whoever makes it: all of it. Evidence is judged where the log is. */
export function claimProblems(
  task: Pick<Task, 'prompt' | 'requires' | 'accepts'>,
  sent: SentClaim,
): readonly RuntimeError[] {
  const notes = checkNotes(sent.notes, task.prompt);
  return [
    ...(notes === undefined ? [] : [notes]),
    ...updateProblems(task, sent),
    ...artifactProblems(sent.artifacts),
  ];
}

/** The same as one error; undefined where the claim can be taken. */
export const checkClaim = (...claim: Parameters<typeof claimProblems>): RuntimeError | undefined =>
  allOf(claimProblems(...claim));

const PREFIX = 'The step is not completed. ';

/** All that is wrong with a claim, so that it has to be made only once more. */
export function allOf(problems: readonly RuntimeError[]): RuntimeError | undefined {
  const [first] = problems;
  if (first === undefined || problems.length === 1) return first;
  const lines = problems.map(({ message, hint }) =>
    `- ${message.replace(PREFIX, '')} ${hint ?? ''}`.trimEnd(),
  );
  return new RuntimeError(
    first.code,
    `The step is not completed, for ${problems.length} reasons:\n${lines.join('\n')}`,
  );
}

function updateProblems(
  { requires, accepts }: Pick<Task, 'requires' | 'accepts'>,
  { context_updates: updates = {} }: SentClaim,
): readonly RuntimeError[] {
  if (!isJsonObject(updates)) return [refused('"context_updates" is no object.', SHAPE)];
  const problems: RuntimeError[] = [];
  const known = [...Object.keys(requires), ...Object.keys(accepts)];
  for (const key of Object.keys(updates))
    if (!known.includes(key))
      problems.push(
        refused(
          `"context_updates" has the key "${key}", which nobody asks for.`,
          known.length === 0
            ? 'Leave "context_updates" out: this step takes none.'
            : suggest(key, known, 'Keys it takes'),
        ),
      );
  const missing = Object.keys(requires).filter((key) => !Object.hasOwn(updates, key));
  if (missing.length > 0)
    problems.push(
      refused(
        `"context_updates" lacks ${missing.map((key) => `"${key}"`).join(', ')}.`,
        missing.map((key) => `"${key}": ${JSON.stringify(requires[key])}`).join('; '),
      ),
    );
  for (const [key, value] of Object.entries(updates)) {
    if (!known.includes(key)) continue;
    const schema = requires[key] ?? accepts[key] ?? {};
    const found = compileViolation(wrapped(key, schema), `The schema of "${key}"`)({ [key]: value });
    if (found !== undefined)
      problems.push(
        refused(
          `"context_updates" is wrong: ${found.message}`,
          found.hint ?? `"${key}" must satisfy ${JSON.stringify(schema)}.`,
        ),
      );
  }
  if (JSON.stringify(updates).length > MAX_VALUES)
    problems.push(refused(`"context_updates" has more than ${MAX_VALUES} characters.`, TOO_LARGE));
  return problems.slice(0, MAX_PROBLEMS);
}

function artifactProblems(artifacts: unknown): readonly RuntimeError[] {
  if (artifacts === undefined) return [];
  if (!Array.isArray(artifacts)) return [refused('"artifacts" is no list.', SHAPE)];
  if (artifacts.length > MAX_ARTIFACTS)
    return [refused(`"artifacts" has more than ${MAX_ARTIFACTS} entries.`, TOO_LARGE)];
  return JSON.stringify(artifacts).length > MAX_VALUES
    ? [refused(`"artifacts" has more than ${MAX_VALUES} characters.`, TOO_LARGE)]
    : [];
}

const wrapped = (key: string, schema: JsonObject): JsonObject => ({
  type: 'object',
  properties: { [key]: schema },
});

const SHAPE = 'complete_step takes {"notes": "…", "context_updates": {…}, "artifacts": […]}.';
const TOO_LARGE = 'Put large results into files, and say where they are.';

const refused = (message: string, hint: string) =>
  new RuntimeError('claim_refused', `${PREFIX}${message}`, { hint });
