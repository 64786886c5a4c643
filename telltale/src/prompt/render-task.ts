import type { GivenTask } from '../events/task-event.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';
import type { Escape } from './escape.ts';

export interface TaskStyle {
  readonly safe: Escape;
  readonly dialect: AgentManifest['dialect'];
}

const ENDS: Readonly<Record<TaskStyle['dialect'], string>> = {
  tags: 'End it with the internal action complete_step',
  tools: 'End it with a call of "complete_step"',
  step: 'End it with "is_complete": true',
};

/** The step in hand: what to do, and what has to come with its end. Nothing of what comes before or after it. */
export function renderTask(
  { prompt, requires, accepts, evidence }: GivenTask,
  { safe, dialect }: TaskStyle,
): string {
  const asked = [
    `${ENDS[dialect]} and "notes" of at least 50 characters.`,
    ...(requires === undefined ? [] : [`"context_updates" must have: ${keysText(requires)}.`]),
    ...(accepts === undefined ? [] : [`"context_updates" may have: ${keysText(accepts)}.`]),
    ...(evidence === undefined
      ? []
      : [
          `"evidence" must name, by id, an action of this step that succeeded, for each of: ${evidence.join(', ')}.`,
        ]),
  ];
  return `The step in hand:\n${safe(prompt)}\n\n${safe(asked.join(' '))}`;
}

const keysText = (keys: NonNullable<GivenTask['requires']>): string =>
  Object.entries(keys)
    .map(([key, schema]) => `"${key}" (${JSON.stringify(schema)})`)
    .join(', ');
