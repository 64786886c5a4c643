import type { DeclaredAction } from '../events/action.ts';
import type { SchedulerEdges, TargetTraits } from '../scheduler/edges.ts';
import type { Target, TargetTable } from '../targets/target.ts';
import { unknownTarget } from '../targets/unknown-target.ts';
import type { AgentView } from './agent-view.ts';
import type { LoadedAgent } from './runtime-types.ts';
import type { SessionLog } from './session-log.ts';

export interface PerformerEdges {
  readonly agent: LoadedAgent;
  readonly log: SessionLog;
  readonly targets: TargetTable;
  readonly internal: readonly Target[];
  readonly view: AgentView;
  readonly crashPoint?: ((name: string) => void) | undefined;
}

/** Calls targets for the scheduler. */
export function createPerformer({
  agent,
  log,
  targets,
  internal,
  view,
  crashPoint,
}: PerformerEdges): Pick<SchedulerEdges, 'traits' | 'unknownTarget' | 'perform'> {
  const { state } = log;
  const cost = agent.manifest.budget?.costs.action ?? 0;
  const own = new Map(internal.map((target) => [target.name, target]));
  const find = ({ kind, name }: DeclaredAction): Target | undefined =>
    kind === 'internal' ? own.get(name) : targets.find(kind, name);
  return {
    traits: (action): TargetTraits | undefined => find(action),
    unknownTarget: (action) => unknownTarget(action.kind, action.name, [...targets.all, ...internal]),
    async perform({ action, input, attempt, signal }) {
      const target = find(action);
      if (target === undefined) throw unknownTarget(action.kind, action.name, [...targets.all, ...internal]);
      if (cost > 0 && attempt === 1 && state.balance !== undefined)
        log.append({ type: 'budget.charged', what: 'action', amount: cost, balance: state.balance - cost });
      crashPoint?.(`perform:${action.id}`);
      const output = await target.run({
        session: state.id,
        id: action.id,
        input,
        attempt,
        signal,
        idempotencyKey: `${state.id}:${action.id}`,
        get agent() {
          return view();
        },
        progress(data) {
          if (log.watched)
            log.show({ type: 'action.progress', session: state.id, turn: state.turn, id: action.id, data });
        },
      });
      crashPoint?.(`performed:${action.id}`);
      return output;
    },
  };
}
