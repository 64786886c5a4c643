import { idInTurn, idsOf } from '../../events/action-id.ts';
import type { SessionState } from '../../events/state.ts';
import { NONE } from '../../kernel/grow.ts';
import type { ParserEvent } from '../../protocol/intents.ts';
import type { SessionContext } from '../context.ts';
import { takenIds } from '../taken-ids.ts';
import { isTag } from './act.ts';
import { type Branches, badTest, closeBranch, openBranch, otherBranch } from './branches.ts';
import { decideIf } from './decide-if.ts';
import { type FaultBody, faultIn } from './group-faults.ts';
import { createGroups, followGroups } from './groups.ts';
import type { Heard } from './hearing-state.ts';
import { leftOpenIf, type PassedFaults, passBy } from './passed-faults.ts';
import { createReheardActions, cutsAgain, loopAgain } from './reheard-actions.ts';
import {
  closeCutOff,
  closeThoughts,
  createReheardSpeech,
  recloses,
  reopen,
  sayAgain,
} from './reheard-speech.ts';
import { createTurnParser } from './turn-parser.ts';
import { closedAtStop } from './unclosed-response.ts';

type Setting = Extract<ParserEvent, { readonly type: 'metadata' | 'variables' }>;

/** What a turn said that is not on the log as an event of its own yet: read again from its text. */
export interface Reheard extends Heard {
  /** Whether its final response had been closed: then the turn was over, whether or not the log says so. */
  readonly final: boolean;
  /** What is to be said of actions that are in its text but were not put on the log. */
  readonly lost: readonly FaultBody[];
  /** Metadata or variables with which it ends, and of which nothing is on the log. */
  readonly unset: Setting | undefined;
  /** What was wrong with it, up to where its final response closed or it broke off; some may be on the log. */
  readonly faults: readonly FaultBody[];
  /** Thoughts that are not on the log: those it broke off in, and one that it ended with. */
  readonly thoughts: readonly { readonly text: string; readonly depth: number }[];
  /** The `<parallel>`s that were open where it broke off: what depends on one of them does not run. */
  readonly groups: readonly string[];
}

/**
 * Reads the last turn's text once more after a restart, to find the responses that were still waiting for a value or
 * for a decision, and what was open where it broke off. Nothing is acted on.
 */
export function rehear(context: SessionContext): Reheard {
  const { state } = context;
  const said = state.turns.at(-1)?.output ?? '';
  // Its own ids are given out again, the same ones.
  const earlier = takenIds(state, state.turn);
  const parser = createTurnParser(context, earlier);
  const branches: Branches & PassedFaults = {
    branchHolds: true,
    openIfs: NONE,
    passedLast: undefined,
    passed: NONE,
  };
  const groups = createGroups();
  const idOfGroup = groupIds(state, earlier);
  const faults: FaultBody[] = [];
  const speech = createReheardSpeech(context);
  const asked = createReheardActions(context, groups, faults);
  let tests = 0;
  // A log that ends before the decision ends before all that came of it: nothing has changed since.
  const decide = (test: string): boolean | undefined => {
    const known = state.signs.ifs[tests++];
    if (known !== undefined) return known ?? undefined;
    const { held, problem } = decideIf(context, test);
    if (problem === undefined) return held;
    faults.push(faultIn(groups, badTest(test, problem)));
    return undefined;
  };
  const pushed = parser.push(said);
  // The log ends behind what is acted on: only the last of it may have been written and not done.
  const last = state.signs.unset === true && parser.consumed === said.length ? pushed.at(-1) : undefined;
  let unset: Setting | undefined;
  let tagged = false;
  let final = false;
  let observed: string | undefined;
  // A copy: closing changes the list in place.
  let open: readonly string[] | undefined;
  // Where the model came to its end, and that cut nothing off, the log has no fault of it.
  const isWhole = !state.turnOpen && !state.news.faults.some(({ code }) => code === 'truncated');
  const ending = isWhole ? closedAtStop(parser.end(), said) : parser.end();
  for (const [at, event] of [...pushed, ...ending].entries()) {
    if (final || observed !== undefined) break;
    const isEnd = at >= pushed.length;
    if (isEnd) open ??= [...groups.groups];
    tagged ||= isTag(event);
    if (event.type !== 'if' && !branches.branchHolds) {
      passBy(branches, event);
      continue;
    }
    switch (event.type) {
      case 'if': {
        if (event.body === 'open') openBranch(branches, () => decide(event.test));
        else if (event.body === 'else') otherBranch(branches);
        else {
          closeBranch(branches);
          const left = leftOpenIf(branches);
          if (left !== undefined && branches.branchHolds && !isEnd) faults.push(faultIn(groups, left));
        }
        break;
      }
      case 'text':
        speech.text += event.text;
        break;
      case 'open':
        reopen(speech, event);
        break;
      case 'delta':
        sayAgain(speech, event);
        break;
      case 'close':
        final = recloses(speech, event);
        break;
      case 'action':
        observed = cutsAgain(asked, event);
        break;
      case 'foreach':
        loopAgain(asked, event);
        break;
      case 'parallel':
        followGroups(groups, event, state.turn, idOfGroup);
        break;
      case 'metadata':
      case 'variables':
        if (event === last) unset = event;
        break;
      case 'fault':
        if (!isEnd) faults.push(faultIn(groups, event)); // that it ends there is no mistake of the model's
        break;
    }
  }
  if (observed !== undefined) closeCutOff(speech);
  closeThoughts(speech);
  if (!final && 'inDoubt' in parser && parser.inDoubt()) faults.push(...branches.passed);
  const { responses, text, thoughts } = speech;
  const heard = { responses, text, tagged, observed, final };
  return { ...heard, lost: asked.lost, unset, faults, thoughts, groups: open ?? groups.groups };
}

/** What the `<parallel>`s of the turn in hand are known by, as far as the log tells: one whose id was taken has none. */
function groupIds({ actions, turn }: SessionState, earlier: ReadonlySet<string>) {
  const known = new Set<string>();
  for (const { action, turn: declared } of actions.values())
    if (declared === turn) for (const id of idsOf(action)) known.add(id);
  return (written: string, unnamed: string): string | undefined => {
    if (known.has(unnamed)) return undefined;
    return earlier.has(written) ? idInTurn(written, turn) : written;
  };
}
