import type { SessionState } from '../../events/state.ts';
import type { Json } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';

/**
 * What a session results in that ends with its run: the run's output where the agent says what it results in; else the
 * last thing it told the user in its last turn, or the notes of its last step.
 */
export function ledResult(state: SessionState, manifest: AgentManifest, output: Json): Json {
  if (manifest.output !== undefined) return output;
  const { response, turn, task } = state;
  if (response !== undefined && response.turn === turn) return response.text;
  return task?.open?.kind === 'claimed' ? task.open.notes : output;
}

export const ledElsewhere = ({ id, parent }: SessionState) =>
  new RuntimeError('session_led', `${id} is led by a run and cannot continue without it.`, {
    hint:
      parent === undefined
        ? 'Start the workflow again.'
        : `Resume the run: telltale workflow resume ${parent.session}`,
  });
