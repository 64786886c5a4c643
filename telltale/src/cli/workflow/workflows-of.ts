import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Workflows } from '../../session/runs/run-types.ts';
import type { Runtime } from '../../session/runtime-types.ts';

export type WithWorkflows = Pick<Runtime, 'store'> & { readonly workflows?: Workflows };

/** What a runtime can do with workflows on their own. */
export function workflowsOf({ workflows }: WithWorkflows): Workflows {
  if (workflows === undefined) throw notBuilt();
  return workflows;
}

const notBuilt = () =>
  new RuntimeError('not_built', 'This runtime cannot run workflows on their own.', {
    hint: 'Run the agent that has them: telltale run MANIFEST "what to do"',
  });
