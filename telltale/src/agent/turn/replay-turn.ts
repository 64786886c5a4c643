import { quote } from '../../expressions/issue.ts';
import { completesStep, declaredIn, idInTurn, idsOf, isForEach } from '../../log/action.ts';
import type { SessionState } from '../../log/state.ts';
import type { ParserEvent } from '../../parser/intents.ts';
import type { FaultBody } from '../../scheduler/faults.ts';
import { takenIds } from '../model-interface.ts';
import type { SessionContext } from '../session-context.ts';
import {
  noteSkipped,
  type SkippedFaults,
  type TurnResponse,
  type TurnResult,
  unclosedIfFault,
} from './active-turn.ts';
import { createTurnParser } from './dialect.ts';
import {
  type Branches,
  badTest,
  closeBranch,
  createGroups,
  elseBranch,
  faultWithGroups,
  type Groups,
  openBranch,
  replayGroups,
} from './groups.ts';
import {
  createResponseStream,
  endResponse,
  pushResponse,
  type ResponseStream,
  whenComplete,
} from './response-stream.ts';
import { decideIf, errorAsFault, forEachProblem, isTag } from './turn-interpreter.ts';
import { closedAtStop } from './turn-stream.ts';

type Setting = Extract<ParserEvent, { readonly type: 'metadata' | 'variables' }>;

/** What a turn said that is not on the log as an event of its own yet: read again from its text. */
export interface ReplayedTurn extends TurnResult {
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
export function replayTurn(context: SessionContext): ReplayedTurn {
  const { state } = context;
  const said = state.turns.at(-1)?.output ?? '';
  // Its own ids are given out again, the same ones.
  const earlier = takenIds(state, state.turn);
  const parser = createTurnParser(context, earlier);
  const branches: Branches & SkippedFaults = {
    branchHolds: true,
    openIfs: [],
    lastSkippedFault: undefined,
    skippedFaults: [],
  };
  const groups = createGroups();
  const idOfGroup = groupIds(state, earlier);
  const faults: FaultBody[] = [];
  const speech = createReplayedOutput(context);
  const asked = createReplayedActions(context, groups, faults);
  let tests = 0;
  // A log that ends before the decision ends before all that came of it: nothing has changed since.
  const decide = (test: string): boolean | undefined => {
    const known = state.signs.ifs[tests++];
    if (known !== undefined) return known ?? undefined;
    const { held, problem } = decideIf(context, test);
    if (problem === undefined) return held;
    faults.push(faultWithGroups(groups, badTest(test, problem)));
    return undefined;
  };
  const pushed = parser.push(said);
  // The log ends behind what is acted on: only the last of it may have been written and not done.
  const last = state.signs.unset === true && parser.consumed === said.length ? pushed.at(-1) : undefined;
  let unset: Setting | undefined;
  let hasTag = false;
  let final = false;
  let cutAtAction: string | undefined;
  // A copy: closing changes the list in place.
  let open: readonly string[] | undefined;
  // Where the model came to its end, and that cut nothing off, the log has no fault of it.
  const isWhole = !state.turnOpen && !state.news.faults.some(({ code }) => code === 'truncated');
  const ending = isWhole ? closedAtStop(parser.end(), said) : parser.end();
  for (const [at, event] of [...pushed, ...ending].entries()) {
    if (final || cutAtAction !== undefined) break;
    const isEnd = at >= pushed.length;
    if (isEnd) open ??= [...groups.groups];
    hasTag ||= isTag(event);
    if (event.type !== 'if' && !branches.branchHolds) {
      noteSkipped(branches, event);
      continue;
    }
    switch (event.type) {
      case 'if': {
        if (event.body === 'open') openBranch(branches, () => decide(event.test));
        else if (event.body === 'else') elseBranch(branches);
        else {
          closeBranch(branches);
          const left = unclosedIfFault(branches);
          if (left !== undefined && branches.branchHolds && !isEnd)
            faults.push(faultWithGroups(groups, left));
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
        replayText(speech, event);
        break;
      case 'close':
        final = recloses(speech, event);
        break;
      case 'action':
        cutAtAction = cutsStreamAgain(asked, event);
        break;
      case 'foreach':
        replayForEach(asked, event);
        break;
      case 'parallel':
        replayGroups(groups, event, state.turn, idOfGroup);
        break;
      case 'metadata':
      case 'variables':
        if (event === last) unset = event;
        break;
      case 'fault':
        if (!isEnd) faults.push(faultWithGroups(groups, event)); // that it ends there is no mistake of the model's
        break;
    }
  }
  if (cutAtAction !== undefined) closeCutOff(speech);
  closeThoughts(speech);
  if (!final && 'inDoubt' in parser && parser.inDoubt()) faults.push(...branches.skippedFaults);
  const { responses, text, thoughts } = speech;
  const heard = { responses, text, hasTag, cutAtAction, final };
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

/** What a turn that is read again asked for. */
export interface ReplayedActions {
  readonly context: SessionContext;
  readonly groups: Groups;
  /** What is to be said of actions that could not be made. */
  readonly faults: FaultBody[];
  /** The same of those that are in its text but were not put on the log. */
  readonly lost: FaultBody[];
  /** How many `<foreach>` of it are on the log, and how many were read. */
  readonly loopsBegun: number;
  loops: number;
  /** Whether the step in hand was said to be done: what follows was not begun. */
  completed: boolean;
}

const createReplayedActions = (
  context: SessionContext,
  groups: Groups,
  faults: FaultBody[],
): ReplayedActions => ({
  context,
  groups,
  faults,
  lost: [],
  loopsBegun: loopsIn(context.state),
  loops: 0,
  completed: false,
});

/** The sync action at which the stream was cut, if it is one. */
function cutsStreamAgain(
  asked: ReplayedActions,
  event: Extract<ParserEvent, { readonly type: 'action' }>,
): string | undefined {
  const { context, groups } = asked;
  const { state, manifest, guide, deps } = context;
  const action = deps.prepared.toAction(event, []);
  if (!action.ok) asked.faults.push(faultWithGroups(groups, errorAsFault(action.error)));
  if (!action.ok || asked.completed) return undefined;
  asked.completed = guide !== undefined && completesStep(action.value);
  const id = declaredIn(state.actions, state.turn, event.id);
  if (id === undefined) {
    if (!wasTaken(state, event.id)) asked.lost.push(notRun(event.id, groups));
    return undefined;
  }
  const isObserved = manifest.protocol.on_sync === 'observe' && action.value.mode === 'sync';
  return isObserved && groups.groups.length === 0 ? id : undefined;
}

/** Whether the model was told that the id is another action's. */
const wasTaken = ({ news }: SessionState, id: string): boolean =>
  news.faults.some(({ code, message }) => code === 'duplicate_id' && message.includes(quote(id)));

function replayForEach(
  asked: ReplayedActions,
  event: Extract<ParserEvent, { readonly type: 'foreach' }>,
): void {
  const { context, groups, faults, lost } = asked;
  if (asked.completed) return;
  const { toAction } = context.deps.prepared;
  const bad = forEachProblem(
    context,
    event.actions.map((each) => toAction(each, [])),
  );
  if (bad !== undefined) faults.push(faultWithGroups(groups, bad));
  else if (++asked.loops > asked.loopsBegun) lost.push(...event.actions.map(({ id }) => notRun(id, groups)));
}

/** Whoever depends on all of the `<parallel>`s that it was to stand in must not begin without it. */
const notRun = (id: string, { groups }: Pick<Groups, 'groups'>): FaultBody => ({
  type: 'fault',
  code: 'not_run',
  message: `The action "${id}" of your last message was not run: the runtime was stopped before it could be. Ask for it again if it is still needed.`,
  ...(groups.length === 0 ? {} : { groups: [...groups] }),
});

/** How many `<foreach>` of the turn in hand are on the log. */
function loopsIn({ actions, turn }: SessionState): number {
  let found = 0;
  for (const known of actions.values()) if (known.turn === turn && isForEach(known.action)) found++;
  return found;
}

/** A `<thought>`, as far as it was said. */
export interface ReplayedThought {
  text: string;
  readonly depth: number;
}

/** The thoughts and responses of a turn that is read again. Those that were closed first are on the log, which counts them. */
export interface ReplayedOutput {
  readonly context: SessionContext;
  /** What was said outside every tag. */
  text: string;
  readonly openThoughts: ReplayedThought[];
  thoughtsClosed: number;
  /** Those that are not on the log. */
  readonly thoughts: ReplayedThought[];
  open: { readonly stream: ResponseStream; readonly final: boolean } | undefined;
  responsesClosed: number;
  /** Those that are not on the log; the ones that are not final get there once they are out. */
  readonly responses: TurnResponse[];
}

const createReplayedOutput = (context: SessionContext): ReplayedOutput => ({
  context,
  text: '',
  openThoughts: [],
  thoughtsClosed: 0,
  thoughts: [],
  open: undefined,
  responsesClosed: 0,
  responses: [],
});

function reopen(speech: ReplayedOutput, event: Extract<ParserEvent, { readonly type: 'open' }>): void {
  if (event.tag === 'thought') {
    speech.openThoughts.push({ text: '', depth: event.depth });
    return;
  }
  const { scheduler, manifest } = speech.context;
  const before = speech.responses.at(-1)?.stream;
  const toJson = manifest.output !== undefined;
  const stream = createResponseStream(scheduler, undefined, event.final, toJson, before);
  speech.open = { stream, final: event.final };
}

function replayText(
  { openThoughts, open }: ReplayedOutput,
  { tag, text }: Extract<ParserEvent, { readonly type: 'delta' }>,
): void {
  const thought = openThoughts.at(-1);
  if (tag === 'response') {
    if (open !== undefined) pushResponse(open.stream, text);
  } else if (thought !== undefined) thought.text += text;
}

/** Whether it closes a final response. */
function recloses(speech: ReplayedOutput, event: Extract<ParserEvent, { readonly type: 'close' }>): boolean {
  if (event.tag === 'thought') {
    closeThought(speech);
    return false;
  }
  const { open, context } = speech;
  if (open === undefined) return false;
  const { stream } = open;
  const meant = (event.final ?? open.final) && event.truncated !== true;
  const final = meant && context.guide === undefined;
  endResponse(stream);
  // One that was not closed stands only where something in it has acted: it is said as far as it went.
  if (isUnsaid(speech)) {
    speech.responses.push({ stream, final, ...(meant && !final ? { inVain: true as const } : {}) });
    if (!final) writeOnceOut(context, stream);
  }
  speech.open = undefined;
  return final;
}

/** The stream was cut at a sync action: what is open there is said as far as it went. */
function closeCutOff(speech: ReplayedOutput): void {
  const { open, context } = speech;
  if (open === undefined) return;
  endResponse(open.stream);
  if (!isUnsaid(speech)) return;
  speech.responses.push({ stream: open.stream, final: false });
  writeOnceOut(context, open.stream);
}

/** Those that it broke off in. */
function closeThoughts(speech: ReplayedOutput): void {
  while (speech.openThoughts.length > 0) closeThought(speech);
}

function closeThought(speech: ReplayedOutput): void {
  const thought = speech.openThoughts.pop();
  const onLog = speech.context.state.signs.thoughts ?? Number.POSITIVE_INFINITY;
  if (thought !== undefined && speech.thoughtsClosed++ >= onLog) speech.thoughts.push(thought);
}

const isUnsaid = (speech: ReplayedOutput): boolean =>
  speech.responsesClosed++ >= speech.context.state.signs.responses;

function writeOnceOut({ log }: SessionContext, stream: ResponseStream): void {
  whenComplete(stream, () => log.append({ type: 'response', text: stream.text, final: false }));
}
