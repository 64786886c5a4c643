import type { Json } from '../../src/lib/json.ts';
import type { EventOf } from '../../src/log/event.ts';
import { stepName } from '../../src/log/reduce-run.ts';
import type { StreamLog } from './evidence.ts';
import { LAB_STEPS } from './lab-project.ts';
import { LAB_TOOLS, type LabTool } from './lab-tool.ts';

/** A step of a run or an action of a session, as its log tells of it. */
export interface Act {
  /** The step's address, or the action's id. */
  readonly id: string;
  readonly key: string;
  /** The tool of the lab that it calls, if it does. */
  readonly tool?: LabTool;
  /** Places on the log. */
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  readonly interrupted: readonly number[];
  readonly completed?: { readonly seq: number; readonly output: Json };
  /** Why it never began. */
  readonly skipped?: Pick<EventOf<'action.skipped'>, 'reason' | 'because'>;
  /** The `<parallel>`s that it stands in. */
  readonly groups: readonly string[];
}

const TOOLS = new Map(LAB_TOOLS.map((tool) => [tool.name, tool]));

interface Growing {
  id: string;
  key: string;
  tool?: LabTool;
  starts: number[];
  ends: number[];
  interrupted: number[];
  completed?: { seq: number; output: Json };
  skipped?: NonNullable<Act['skipped']>;
  groups: readonly string[];
}

/** All steps or actions of a log, by id. */
export function actsOf({ stream, name, log }: StreamLog): ReadonlyMap<string, Act> {
  const acts = new Map<string, Growing>();
  const act = (id: string): Growing => {
    const known = acts.get(id);
    if (known !== undefined) return known;
    const made: Growing = { id, key: `${stream}:${id}`, starts: [], ends: [], interrupted: [], groups: [] };
    acts.set(id, made);
    return made;
  };
  const call = (made: Growing, tool: string | undefined) => {
    const found = tool === undefined ? undefined : TOOLS.get(tool);
    if (found !== undefined) made.tool = found;
  };
  if (log.kind === 'session')
    for (const event of log.events) {
      if (event.type === 'action.declared' && event.action.kind === 'tool') {
        const { id, name: tool, group, within = [] } = event.action;
        call(act(id), tool);
        if (group !== undefined) act(id).groups = [group, ...within];
      } else if (event.type === 'action.started') act(event.id).starts.push(event.seq);
      else if (event.type === 'action.interrupted') {
        act(event.id).interrupted.push(event.seq);
        act(event.id).ends.push(event.seq);
      } else if (event.type === 'action.completed') {
        act(event.id).completed = { seq: event.seq, output: event.output };
        act(event.id).ends.push(event.seq);
      } else if (
        event.type === 'action.failed' ||
        event.type === 'action.skipped' ||
        event.type === 'action.cancelled'
      ) {
        act(event.id).ends.push(event.seq);
        if (event.type === 'action.skipped') act(event.id).skipped = event;
      }
    }
  else
    for (const event of log.events) {
      if (event.type === 'step.started') {
        call(act(event.step), LAB_STEPS[name]?.get(stepName(event.step)));
        act(event.step).starts.push(event.seq);
      } else if (event.type === 'step.interrupted') act(event.step).interrupted.push(event.seq);
      else if (event.type === 'step.completed') {
        act(event.step).completed = { seq: event.seq, output: event.output };
        act(event.step).ends.push(event.seq);
      } else if (
        event.type === 'step.failed' ||
        event.type === 'step.skipped' ||
        event.type === 'step.cancelled'
      )
        act(event.step).ends.push(event.seq);
    }
  return acts;
}
