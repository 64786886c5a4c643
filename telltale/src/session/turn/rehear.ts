import { completesStep } from '../../events/action.ts';
import type { EventBody } from '../../events/event.ts';
import type { SessionState } from '../../events/state.ts';
import { NONE } from '../../kernel/grow.ts';
import type { ParserEvent } from '../../protocol/intents.ts';
import { isLoop } from '../../scheduler/loops.ts';
import type { SessionContext } from '../context.ts';
import { takenIds } from '../taken-ids.ts';
import { isTag } from './act.ts';
import { type Branches, badTest, closeBranch, goOnInside, openBranch, otherBranch } from './branches.ts';
import { cutBack } from './cut-back.ts';
import { decideIf } from './decide-if.ts';
import { loopNotMade, notMade } from './declare.ts';
import { type FaultBody, faultIn } from './group-faults.ts';
import { followGroups, type Groups, goOnInGroups } from './groups.ts';
import type { Heard, HeardResponse } from './hearing-state.ts';
import { ifsOf } from './inside.ts';
import { insideOf } from './inside-of.ts';
import { leftOpenIf, type PassedFaults, passBy } from './passed-faults.ts';
import {
  createResponseStream,
  endResponse,
  pushResponse,
  type ResponseStream,
  whenOut,
} from './response-stream.ts';
import { createTurnParser, endLine } from './turn-parser.ts';

type Setting = Extract<ParserEvent, { readonly type: 'metadata' | 'variables' }>;

/** What a turn said that is not on the log as an event of its own yet: read again from its text. */
export interface Reheard extends Heard {
  /** Whether its final response had been closed: then the turn was over, whether or not the log says so. */
  readonly final: boolean;
  /** Whether what the model goes on with may be quotation, as the rest of it was: nothing in that acts. */
  readonly doubt: boolean;
  /** How many characters of it stand, where not all do: nothing else is looked at. */
  readonly kept?: number;
  /** What is to be said of actions that are in its text but were not put on the log. */
  readonly lost: readonly FaultBody[];
  /** Metadata or variables with which it ends, and of which nothing is on the log. */
  readonly unset: Setting | undefined;
  /** What was wrong with it, up to where its final response closed or it broke off; some may be on the log. */
  readonly faults: readonly FaultBody[];
  /** What tests of its `<if>`s come to of which that is not on the log. */
  readonly decided: readonly EventBody[];
  /** Thoughts that are not on the log: those it broke off in, and one that it ended with. */
  readonly thoughts: readonly { readonly text: string; readonly depth: number }[];
}

/**
 * Reads the last turn's text once more after a restart, to find the responses that were still waiting for a value or
 * for a decision. Nothing is acted on: what the tests of its `<if>`s came to is on the log.
 */
export function rehear(context: SessionContext): Reheard {
  const { state, manifest, scheduler, log, edges, guide } = context;
  const { toAction } = edges.prepared;
  const inside = insideOf(context);
  const said = state.turns.at(-1)?.output ?? '';
  const cut = state.turnOpen ? cutBack(context, inside) : {};
  const output = said.slice(0, cut.kept);
  // Its own ids are given out again, the same ones.
  const parser = createTurnParser(context, takenIds(state, state.turn), inside);
  const branches: Branches & PassedFaults = {
    ...{ branchHolds: true, openIfs: NONE, passedLast: undefined, passed: NONE },
  };
  goOnInside(branches, ifsOf(inside));
  const responses: HeardResponse[] = [];
  const lost: FaultBody[] = [];
  const faults: FaultBody[] = [];
  const thoughts: { text: string; readonly depth: number }[] = [];
  const unsaid: { readonly text: string; readonly depth: number }[] = [];
  let observed: string | undefined;
  const groups: Groups = { groups: NONE, goneOn: 0, parallels: 0, emptyGroups: NONE };
  goOnInGroups(groups, inside);
  let loops = 0;
  const begun = loopsIn(state);
  let asked = 0;
  const decided: EventBody[] = [];
  let seen = 0;
  let closed = 0;
  let text = '';
  let tagged = false;
  let final = false;
  let completed = false;
  let open: { readonly stream: ResponseStream; readonly final: boolean } | undefined;
  // As with responses, those before it are on the log.
  const closeThought = () => {
    const thought = thoughts.pop();
    if (thought !== undefined && closed++ >= (state.signs.thoughts ?? Number.POSITIVE_INFINITY))
      unsaid.push(thought);
  };
  // A log that ends before the decision ends before all that came of it: nothing has changed since.
  const decide = (test: string): boolean | undefined => {
    const known = state.signs.ifs[asked++];
    if (known !== undefined) return known ?? undefined;
    const made = decideIf(context, test);
    const { held, problem } = made;
    decided.push({ type: 'if.decided', test, ...made });
    if (problem === undefined) return held;
    faults.push(faultIn(groups, badTest(test, problem)));
    return undefined;
  };
  const pushed = parser.push(output);
  if ('unfinished' in parser) pushed.push(...endLine(parser));
  // The log ends behind what is acted on: only the last of it may have been written and not done.
  const last = state.signs.unset === true && parser.consumed === said.length ? pushed.at(-1) : undefined;
  let unset: Setting | undefined;
  for (const [at, event] of [...pushed, ...parser.end()].entries()) {
    if (final || observed !== undefined) break;
    const isEnd = at >= pushed.length;
    tagged ||= isTag(event);
    if (event.type === 'if') {
      if (event.body === 'else') otherBranch(branches);
      else if (event.body === 'close') {
        closeBranch(branches);
        const left = leftOpenIf(branches);
        if (left !== undefined && branches.branchHolds && !isEnd) faults.push(faultIn(groups, left));
      } else openBranch(branches, () => decide(event.test));
    } else if (!branches.branchHolds) passBy(branches, event);
    else if (event.type === 'text') text += event.text;
    else if (event.type === 'fault') {
      if (!isEnd) faults.push(faultIn(groups, event)); // that it ends there is no mistake of the model's
    } else if (event.type === 'metadata' || event.type === 'variables') {
      if (event === last) unset = event;
    } else if (event.type === 'parallel') followGroups(groups, event, state.turn);
    else if (event.type === 'open' && event.tag === 'thought')
      thoughts.push({ text: '', depth: event.depth });
    else if (event.type === 'open') {
      const before = responses.at(-1)?.stream;
      const toJson = manifest.output !== undefined;
      const stream = createResponseStream(scheduler, undefined, event.final, toJson, before);
      open = { stream, final: event.final };
    } else if (event.type === 'delta' && event.tag === 'thought') {
      const thought = thoughts.at(-1);
      if (thought !== undefined) thought.text += event.text;
    } else if (event.type === 'delta' && open !== undefined) pushResponse(open.stream, event.text);
    else if (event.type === 'close' && event.tag === 'thought') closeThought();
    else if (event.type === 'close' && open !== undefined) {
      const { stream } = open;
      const meant = (event.final ?? open.final) && event.truncated !== true;
      final = meant && guide === undefined;
      endResponse(stream);
      // Those before it are on the log: they are counted there in the order in which they were closed.
      if (seen++ >= state.signs.responses && event.truncated !== true) {
        responses.push({ stream, final, ...(meant && !final ? { inVain: true as const } : {}) });
        if (!final) whenOut(stream, () => log.append({ type: 'response', text: stream.text, final: false }));
      }
      open = undefined;
    } else if (event.type === 'foreach') {
      if (completed) continue;
      const actions = event.actions.map((each) => toAction(each, NONE));
      const bad = loopNotMade(context, actions);
      if (bad !== undefined) faults.push(faultIn(groups, bad));
      else if (++loops > begun) lost.push(...event.actions.map(({ id }) => notRun(id, groups)));
    } else if (event.type === 'action') {
      const action = toAction(event, NONE);
      if (!action.ok) faults.push(faultIn(groups, notMade(action.error)));
      if (!action.ok || completed) continue; // it followed the end of a step
      completed = guide !== undefined && completesStep(action.value);
      if (!state.actions.has(event.id)) lost.push(notRun(event.id, groups));
      else if (
        manifest.protocol.on_sync === 'observe' &&
        action.value.mode === 'sync' &&
        groups.groups.length === 0
      )
        observed = event.id;
    }
  }
  // The stream was cut where a final response closed, or at a sync action: what is open there is said as far as it went.
  if (observed !== undefined && open !== undefined) {
    const { stream } = open;
    endResponse(stream);
    if (seen >= state.signs.responses) {
      responses.push({ stream, final: false });
      whenOut(stream, () => log.append({ type: 'response', text: stream.text, final: false }));
    }
  }
  while (thoughts.length > 0) closeThought();
  const doubt = !final && 'inDoubt' in parser && parser.inDoubt();
  if (doubt) faults.push(...branches.passed);
  const heard = { responses, text, tagged, observed, final, doubt, ...cut };
  return { ...heard, lost, unset, faults, decided, thoughts: unsaid };
}

/** Whoever depends on all of the `<parallel>`s that it was to stand in must not begin without it. */
const notRun = (id: string, { groups }: Groups): FaultBody => ({
  type: 'fault',
  code: 'not_run',
  message: `The action "${id}" of your last message was not run: the runtime was stopped before it could be. Ask for it again under another id if it is still needed.`,
  ...(groups.length === 0 ? {} : { groups: [...groups] }),
});

/** How many `<foreach>` of the turn in hand are on the log. */
function loopsIn({ actions, turn }: SessionState): number {
  let found = 0;
  for (const known of actions.values()) if (known.turn === turn && isLoop(known.action)) found++;
  return found;
}
