import { RuntimeError } from '../../lib/errors.ts';
import { suggest } from '../../lib/nearest.ts';
import type { LeafDeps } from '../../workflows/steps/step-deps.ts';
import type { PreparedAgent } from '../prepare-agent.ts';
import type { RunsDeps } from './run-environment.ts';

export interface LentAgents {
  readonly handsOf: LeafDeps['handsOf'];
  /** To be called once, when the walk is over. */
  giveBack(): void;
}

/** Agents that the one in whose name a run works may call, made ready for steps that act as one of them. */
export function lendAgents(
  { shelf, lateModel }: Pick<RunsDeps, 'shelf' | 'lateModel'>,
  { agents, model }: Pick<PreparedAgent, 'agents' | 'model'>,
): LentAgents {
  const lent = new Map<string, Promise<PreparedAgent>>();
  const lend = async (name: string): Promise<PreparedAgent> => {
    const agent = agents.get(name);
    if (agent === undefined) throw agentUnknown(name, [...agents.keys()]);
    return shelf.prepare(agent, agent.manifest.model === undefined ? model : lateModel(agent));
  };
  return {
    async handsOf(name) {
      const lending = lent.get(name) ?? lend(name);
      lent.set(name, lending);
      try {
        const { targets } = await lending;
        return { targets, ask: targets.ask };
      } catch (thrown) {
        lent.delete(name); // the next time may succeed
        throw thrown;
      }
    },
    giveBack() {
      for (const lending of lent.values()) lending.then(shelf.release, () => undefined); // whoever asked for it has heard
      lent.clear();
    },
  };
}

const agentUnknown = (name: string, known: readonly string[]) =>
  new RuntimeError('target_unknown', `No agent is named "${name}".`, {
    hint: suggest(name, known, 'Agents that can be called'),
  });
