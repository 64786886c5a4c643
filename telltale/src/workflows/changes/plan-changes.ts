import { createHash } from 'node:crypto';
import type { Json } from '../../lib/json.ts';
import type { PinnedStep, StepDecision } from '../../log/run-event.ts';
import type { AcceptedChange, RunState, StepChange, StepState } from '../../log/run-state.ts';
import { canonicalJson } from '../../manifest/project/canonical-json.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import type { Step } from '../../manifest/schema/steps/step.ts';
import type { Stepped } from '../machine/composite.ts';
import { listsInside } from '../machine/composite.ts';

export interface ChangeDecision {
  readonly as: StepDecision;
  /** The output of a skipped step. */
  readonly output?: Json;
}

/** A person's decisions about a changed workflow. */
export interface ChangeDecisionSet {
  readonly decide: ReadonlyMap<string, ChangeDecision>;
  readonly runNew: ReadonlySet<string>;
}

export interface ChangePlan {
  readonly steps: readonly StepChange[];
  /** Ambiguous steps without a decision. */
  readonly undecided: readonly string[];
  /** Decisions about steps that are not ambiguous, or that cannot be decided that way. */
  readonly wrong: readonly string[];
  /** Why the run cannot continue with this definition at all. */
  readonly impossible?: string;
  /** Which new step replaces which old one. */
  readonly replaced: Readonly<Record<string, string>>;
  readonly decided: Readonly<Record<string, ChangeDecision>>;
  readonly fails?: string;
}

const COMPOSITES: ReadonlySet<string> = new Set(['parallel', 'race', 'foreach', 'loop', 'switch', 'try']);
/** Types of steps without effects outside the run. They can start again without harm. */
const HARMLESS: ReadonlySet<string> = new Set(['wait', 'approval', 'llm', 'script', 'transition']);

/**
 * Compares the steps that a run is pinned to with those of the current workflow. Ambiguous steps are left
 * undecided.
 */
export function planChanges(
  state: RunState,
  workflow: WorkflowManifest,
  { decide, runNew }: ChangeDecisionSet,
): ChangePlan {
  const now = pinSteps(workflow);
  const nowBy = new Map(now.map((each) => [each.at, each]));
  const begun = [...state.steps.values()];
  const begunPaths = new Set(begun.map(({ step }) => pathOf(step)));
  const pinned = state.pinned ?? [...begunPaths].map((at) => ({ at, type: '', hash: '' }));
  const pinnedBy = new Map(pinned.map((each) => [each.at, each]));
  const isKnown = state.pinned !== undefined;
  const replaced = isKnown
    ? replacements(pinned, now, new Set(begun.filter(isOpen).map(({ step }) => pathOf(step))))
    : new Map<string, string>();
  const placeTaken = new Map([...replaced].map(([taker, was]) => [was, taker]));

  const steps: StepChange[] = [];
  /** Replacements of ambiguous steps, which are shown in the rows of those steps. */
  const shownTakers = new Set<string>();
  const undecided: string[] = [];
  const decided: Record<string, ChangeDecision> = {};
  const wrong: string[] = [];
  let fails: string | undefined;
  const used = new Set<string>();

  for (const { at } of [...pinned, ...now.filter((each) => !pinnedBy.has(each.at))]) {
    const was = pinnedBy.get(at);
    const is = nowBy.get(at);
    const times = begun.filter(({ step }) => pathOf(step) === at);
    const taker = placeTaken.get(at);
    const open = times.filter(isOpen);
    for (const known of open) {
      const ambiguity = ambiguityOf(state, known, was, is);
      if (ambiguity === 'none' && decide.get(known.step) === undefined) continue;
      used.add(known.step);
      const isGone = is === undefined;
      const choices: readonly StepDecision[] =
        isGone && taker === undefined ? ['skip', 'fail'] : ['rerun', 'skip', 'fail'];
      const asked = decide.get(known.step);
      if (asked !== undefined && (!choices.includes(asked.as) || COMPOSITES.has(was?.type ?? '')))
        wrong.push(`${known.step}=${asked.as}`);
      const chosen = asked ?? (ambiguity === 'harmless' && !isGone ? { as: 'rerun' as const } : undefined);
      if (chosen !== undefined) decided[known.step] = chosen;
      if (chosen?.as === 'fail' && isGone && taker === undefined) fails = known.step;
      if (chosen === undefined && ambiguity === 'real') undecided.push(known.step);
      if (taker !== undefined) shownTakers.add(taker);
      steps.push({
        step: known.step,
        status: known.status,
        change: ambiguity === 'harmless' ? (isGone ? 'gone' : 'kept') : 'in_doubt',
        ...(taker === undefined ? {} : { now: taker }),
        outcome: outcomeOf(chosen?.as, ambiguity, taker),
        ...(ambiguity === 'real' ? { choices } : {}),
        ...(chosen === undefined ? {} : { decided: chosen.as }),
      });
    }
    if (open.some(({ step }) => used.has(step))) continue;
    const status = times.at(-1)?.status;
    const shown = { step: at, ...(status === undefined ? {} : { status }) };
    if (is !== undefined && (was !== undefined || !isKnown)) {
      const outcome =
        status === undefined ? 'runs when it is its turn' : open.length > 0 ? 'goes on' : `stays ${status}`;
      steps.push({ ...shown, change: 'kept', outcome });
    } else if (is === undefined) {
      const outcome = status === undefined ? 'does not run' : `stays ${status} on the log`;
      steps.push({ ...shown, change: 'gone', outcome, ...(taker === undefined ? {} : { now: taker }) });
    } else if (!shownTakers.has(at)) {
      const isPassed = hasPassed(at, now, begun, replaced, state);
      if (!isPassed) steps.push({ ...shown, change: 'new', outcome: 'runs when it is its turn' });
      else if (runNew.has(at))
        steps.push({ ...shown, change: 'new', outcome: 'runs, although its place has passed', passed: true });
      else
        steps.push({
          ...shown,
          change: 'new',
          outcome: 'does not run where its place has passed',
          passed: true,
        });
    }
  }
  for (const [step, { as }] of decide) if (!used.has(step)) wrong.push(`${step}=${as}`);
  for (const step of runNew)
    if (!steps.some((each) => each.step === step && each.change === 'new')) wrong.push(step);
  const impossible = stateGone(state, workflow);
  return {
    steps,
    undecided,
    wrong,
    decided,
    replaced: Object.fromEntries(replaced),
    ...(impossible === undefined ? {} : { impossible }),
    ...(fails === undefined ? {} : { fails }),
  };
}

export const isOpen = ({ status }: StepState): boolean =>
  status === 'running' || status === 'retrying' || status === 'interrupted';

/** `harmless`: the step can start again, or end, without a decision. `none`: it continues unchanged. */
function ambiguityOf(
  { reviews }: RunState,
  { step, status }: StepState,
  was: PinnedStep | undefined,
  is: PinnedStep | undefined,
): 'real' | 'harmless' | 'none' {
  const isKnown = was !== undefined && was.type !== '';
  const isSame = is !== undefined && (!isKnown || (was.hash === is.hash && was.type === is.type));
  if (isSame) return 'none';
  const isComposite = isKnown && COMPOSITES.has(was.type);
  if (isComposite) return is?.type === was.type ? 'none' : 'harmless';
  // Its last attempt failed or waits for approval, so nothing is running.
  const awaitsLeave = reviews.some(
    (each) => each.step === step && each.call !== undefined && each.choice === undefined,
  );
  const isHarmless = isKnown && HARMLESS.has(was.type);
  return isHarmless || awaitsLeave || status === 'retrying' ? 'harmless' : 'real';
}

function outcomeOf(
  as: StepDecision | undefined,
  ambiguity: 'real' | 'harmless' | 'none',
  taker: string | undefined,
): string {
  switch (as) {
    case 'rerun':
      return taker === undefined ? 'begins anew' : `runs again as "${taker}"`;
    case 'skip':
      return 'counts as done';
    case 'fail':
      return 'fails';
    case undefined:
      if (ambiguity === 'real') return 'decide: it may have taken effect';
      return taker === undefined ? 'ends here' : `ends here; "${taker}" runs`;
  }
}

/** Which new step replaces which removed one, by path: renamed, moved, or between the same neighbors. */
function replacements(
  was: readonly PinnedStep[],
  now: readonly PinnedStep[],
  open: ReadonlySet<string>,
): ReadonlyMap<string, string> {
  const nowPaths = new Set(now.map(({ at }) => at));
  const wasPaths = new Set(was.map(({ at }) => at));
  // Open steps come first, because one unnecessary question does no harm.
  const missing = was.filter(({ at }) => !nowPaths.has(at));
  const inFlight = missing.filter(({ at }) => open.has(at));
  const gone = new Map([...inFlight, ...missing].map((each) => [each.at, each]));
  const added = new Map(now.filter(({ at }) => !wasPaths.has(at)).map((each) => [each.at, each]));
  const found = new Map<string, string>();
  const pair = (fits: (fresh: PinnedStep, old: PinnedStep) => boolean) => {
    for (const fresh of added.values())
      for (const old of gone.values())
        if (fits(fresh, old)) {
          found.set(fresh.at, old.at);
          added.delete(fresh.at);
          gone.delete(old.at);
          break;
        }
  };
  /** The nearest step before or after it in its list that exists in both definitions. */
  const neighbor = (
    list: readonly PinnedStep[],
    { at }: PinnedStep,
    by: 1 | -1,
    both: (path: string) => boolean,
  ) => {
    const container = containerOf(at);
    const siblings = list.filter((each) => containerOf(each.at) === container);
    let index = siblings.findIndex((each) => each.at === at) + by;
    while (siblings[index] !== undefined && !both(siblings[index]?.at ?? '')) index += by;
    return nameOf(siblings[index]?.at ?? '');
  };
  const oldContainer = (at: string): string => {
    const container = containerOf(at);
    const around = container.slice(0, -1);
    return found.has(around) ? `${found.get(around)}/` : container;
  };
  const isSame = (fresh: PinnedStep, old: PinnedStep) => fresh.hash === old.hash && fresh.type === old.type;
  const isInSameList = (fresh: PinnedStep, old: PinnedStep) => oldContainer(fresh.at) === containerOf(old.at);
  const isInSameGap = (fresh: PinnedStep, old: PinnedStep) =>
    isInSameList(fresh, old) &&
    neighbor(now, fresh, -1, (path) => wasPaths.has(path)) ===
      neighbor(was, old, -1, (path) => nowPaths.has(path)) &&
    neighbor(now, fresh, 1, (path) => wasPaths.has(path)) ===
      neighbor(was, old, 1, (path) => nowPaths.has(path));
  const isOnly = ({ hash }: PinnedStep) =>
    [...gone.values()].filter((each) => each.hash === hash).length === 1 &&
    [...added.values()].filter((each) => each.hash === hash).length === 1;

  pair((fresh, old) => nameOf(fresh.at) === nameOf(old.at));
  // Steps with inner steps come first, outer before inner, because their inner steps compare the surrounding
  // lists.
  pair((fresh, old) => COMPOSITES.has(old.type) && fresh.type === old.type && isInSameGap(fresh, old));
  const isLeaf = (fresh: PinnedStep, old: PinnedStep) =>
    !COMPOSITES.has(fresh.type) && !COMPOSITES.has(old.type);
  pair((fresh, old) => isLeaf(fresh, old) && isInSameGap(fresh, old) && isSame(fresh, old));
  pair((fresh, old) => isLeaf(fresh, old) && isInSameGap(fresh, old));
  pair((fresh, old) => isLeaf(fresh, old) && isInSameList(fresh, old) && isSame(fresh, old));
  pair((fresh, old) => isLeaf(fresh, old) && isSame(fresh, old) && isOnly(old));
  return found;
}

/**
 * Whether the run is past the position of a new step, because a later step or the replaced one has started.
 */
function hasPassed(
  at: string,
  now: readonly PinnedStep[],
  begun: readonly StepState[],
  replaced: ReadonlyMap<string, string>,
  { visited }: RunState,
): boolean {
  const container = containerOf(at);
  const was = replaced.get(at);
  if (
    was !== undefined &&
    begun.some(({ step, ...known }) => pathOf(step) === was && !isOpen({ step, ...known }))
  )
    return true;
  const siblings = now.filter((each) => containerOf(each.at) === container).map((each) => each.at);
  const behind = new Set(siblings.slice(siblings.indexOf(at) + 1));
  if (begun.some(({ step }) => behind.has(pathOf(step)))) return true;
  if (container === '') return false;
  const around = container.slice(0, -1);
  const times = begun.filter(({ step }) => pathOf(step) === around);
  if (times.length > 0) return times.every((each) => !isOpen(each));
  const isLeft = visited.some(({ state }) => state === around) && visited.at(-1)?.state !== around;
  return isLeft || (around.includes('/') && hasPassed(around, now, begun, replaced, { visited } as RunState));
}

/** Why a run cannot stay in its current state. */
function stateGone({ visited, state }: RunState, { name, states }: WorkflowManifest): string | undefined {
  if (visited.length === 0) return undefined;
  if (states === undefined)
    return `The run stands in the state "${state}", and "${name}" has no states any more.`;
  if (state !== undefined && !Object.hasOwn(states, state))
    return `The run stands in the state "${state}", which "${name}" no longer has.`;
  return undefined;
}

/** Keys that do not change what a step does. Inner steps are pinned separately. */
const NOT_HASHED: ReadonlySet<string> = new Set(
  `name description needs condition if on_error retry timeout compensate output_key
   branches body cases default catch finally`.split(/\s+/),
);
const HASH_CHARS = 12;

const known = new WeakMap<Stepped, readonly PinnedStep[]>();

/** The pinned steps of a workflow in manifest order, outer before inner. */
export function pinSteps(workflow: Stepped): readonly PinnedStep[] {
  const before = known.get(workflow);
  if (before !== undefined) return before;
  const pinned: PinnedStep[] = [];
  const add = (steps: readonly Step[], around: string) => {
    for (const step of steps) {
      const at = around + step.name;
      pinned.push({ at, type: typeOf(step), hash: hashOf(step) });
      for (const inner of listsInside(step)) add(inner, `${at}/`);
    }
  };
  add(workflow.steps ?? [], '');
  for (const [state, { steps }] of Object.entries(workflow.states ?? {})) add(steps, `${state}/`);
  known.set(workflow, pinned);
  return pinned;
}

const typeOf = (step: Step): string =>
  step.type === 'script' && 'command' in step && step.command !== undefined ? 'command' : step.type;

function hashOf(step: Step): string {
  const told = Object.entries(step).filter(([key]) => !NOT_HASHED.has(key));
  // Functions of a program cannot be compared.
  const plain = JSON.parse(JSON.stringify(Object.fromEntries(told))) as Json;
  return createHash('sha256').update(canonicalJson(plain)).digest('hex').slice(0, HASH_CHARS);
}

/**
 * The path of an address without rounds and visits: `drafting@2/each[3]/build~2` is `drafting/each/build`.
 */
export const pathOf = (address: string): string =>
  address
    .split('/')
    .map((part) => part.replace(DECORATION, ''))
    .join('/');

const DECORATION = /[~!#@[].*$/;

const containerOf = (path: string): string => path.slice(0, path.lastIndexOf('/') + 1);
export const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/**
 * The step on the log that this one replaces in an accepted change, in the same round and visit if it is in
 * the same list.
 */
export function replacedBy(
  { steps }: Pick<RunState, 'steps'>,
  { replaced }: AcceptedChange,
  address: string,
): StepState | undefined {
  let candidate: string | undefined = address;
  // A step may have been renamed more than once.
  for (let renames = 0; renames <= replaced.size; renames++) {
    candidate = before(replaced, candidate);
    if (candidate === undefined) return undefined;
    const found = steps.get(candidate);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The address with the old names. Undefined if no name in it has changed. */
function before(replaced: AcceptedChange['replaced'], address: string): string | undefined {
  let path = '';
  let old = '';
  let isChanged = false;
  for (const part of address.split('/')) {
    const name = part.replace(DECORATION, '');
    path += path === '' ? name : `/${name}`;
    const was = replaced.get(path);
    const prefix = old === '' ? '' : `${old}/`;
    if (was === undefined) {
      old = prefix + part;
      continue;
    }
    isChanged = true;
    // A step that was moved to another list had another address there.
    old = containerOf(was) === pathOf(prefix) ? prefix + nameOf(was) + part.slice(name.length) : was;
  }
  return isChanged ? old : undefined;
}
