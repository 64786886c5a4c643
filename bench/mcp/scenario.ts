import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Steps of the workflow: each is one call of `continue_workflow`. */
export const STEPS = 20;

const NOTES =
  'Read what the step asks for, did it, and looked at the outcome: everything is in place and nothing is left open.';

/** A workflow as users write them, a task a step. */
export function writeProject(folder: string): void {
  const steps = Array.from(
    { length: STEPS },
    (_, index) =>
      `  - { name: step_${index + 1}, type: task, prompt: "Do part ${index + 1} of \${input.goal}." }`,
  );
  const text = `kind: Agent
name: bench
---
kind: Workflow
name: bench
input: { type: object, properties: { goal: { type: string } } }
steps:
${steps.join('\n')}
`;
  writeFileSync(join(folder, 'agent.yml'), text);
}

/** What both ways of calling have in common. */
export interface Caller {
  call(tool: string, args: Readonly<Record<string, string>>): Promise<Answer>;
  close(): Promise<void>;
}

export interface Answer {
  readonly run?: string;
  readonly continueToken?: string;
  readonly isComplete?: boolean;
}

/** Works through one run and gives the milliseconds of each `continue_workflow`. Throws where it does not end well. */
export async function workThrough({ call }: Caller): Promise<readonly number[]> {
  let answer = await call('start_workflow', { workflow: 'bench', goal: 'a figure' });
  const took: number[] = [];
  while (answer.continueToken !== undefined) {
    const { continueToken } = answer;
    const started = performance.now();
    answer = await call('continue_workflow', { continueToken, notes: NOTES });
    took.push(performance.now() - started);
  }
  if (answer.isComplete !== true || took.length !== STEPS)
    throw new Error(`A run ended after ${took.length} of ${STEPS} steps: ${JSON.stringify(answer)}`);
  return took;
}
