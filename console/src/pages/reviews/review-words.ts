import type { ReviewInfo } from '../../../../telltale/src/client/api.ts';
import type { ReviewKind } from '../../../../telltale/src/log/reviews.ts';
import type { Resolution } from '../../data/review-inbox.ts';

/** The kind of answer that is needed. */
export const KIND_LABELS: Readonly<Record<ReviewKind, string>> = {
  permission: 'Permission',
  approval: 'Question',
  confirm: 'Start of a step',
  plan: 'Plan',
  escalation: 'Decision',
};

type Asked = Pick<ReviewInfo, 'kind' | 'what' | 'target' | 'because' | 'agent' | 'workflow'>;

/** The agent or the workflow that asks. */
export const askerOf = ({ agent, workflow }: Pick<ReviewInfo, 'agent' | 'workflow'>): string =>
  workflow === undefined ? agent : `workflow ${workflow} of ${agent}`;

export interface ReviewQuestion {
  readonly title: string;
  /** The part that must be shown word for word: a command, a request, a plan. */
  readonly exact?: string;
}

/** Turns `tool "deploy"` into `tool deploy`. */
const nameOf = (target: string): string => target.replace(/^(\w+) "([^"]*)"$/, '$1 $2');

/** The end of an escalation's text explains its options for the command line. Here the buttons do. */
const SETTLING = /\n\n(?:pass|retry): .* fail: the step fails\.\s*$/;

/** The question as a person would ask it. A workflow's question stays in its author's words. */
export function questionOf(review: Asked): ReviewQuestion {
  const { kind, what, target, because, agent, workflow } = review;
  const [first = '', ...others] = what.trim().split('\n');
  const rest = (kind === 'escalation' ? others.join('\n').replace(SETTLING, '') : others.join('\n')).trim();
  const more = rest === '' ? {} : { exact: rest };
  if (kind !== 'permission') return { title: first, ...more };
  const who = workflow ?? agent;
  if (what === `call ${target}`) return { title: `May ${who} call the ${nameOf(target)}?` };
  if (because.split('; ').length > 1) return { title: `May ${who} do this?`, exact: what };
  if (because === 'permissions: { shell }') return { title: `May ${who} run this command?`, exact: what };
  if (/^[A-Z]+ \w+:/.test(first)) return { title: `May ${who} send this request?`, exact: what };
  return { title: `May ${who} ${first}?`, ...more };
}

/** The log's reasons for asking a person. */
const REASONS: readonly (readonly [RegExp, (name: string) => string])[] = [
  [
    /^approval: always of (.+)$/,
    (name) => `The ${nameOf(name)} needs approval each time (approval: always).`,
  ],
  [
    /^approval: strict of (.+)$/,
    (name) => `The ${nameOf(name)} needs approval each time and for each file it runs (approval: strict).`,
  ],
  [
    /^permissions: \{ shell \}$/,
    () => 'The agent may not run this command without approval (permissions.shell).',
  ],
  [
    /^permissions: \{ paths: \{ ask \} \}$/,
    () => 'The agent may not use this path without approval (permissions.paths.ask).',
  ],
  [
    /^permissions: \{ network: \{ ask \} \}$/,
    () => 'The agent may not reach this host without approval (permissions.network.ask).',
  ],
  [
    /^permissions: \{ manifests \}$/,
    () =>
      'Telltale loads this file as configuration or code, so changes need approval (permissions.manifests).',
  ],
];

/** Why a person is asked, in sentences. */
export const reasonOf = ({ because, kind }: Pick<ReviewInfo, 'because' | 'kind'>): string =>
  (kind === 'permission' ? because.split('; ') : [because]).map(sentence).join(' ');

function sentence(because: string): string {
  for (const [pattern, say] of REASONS) {
    const found = pattern.exec(because);
    if (found !== null) return say(found[1] ?? '');
  }
  const text = because.replace(/^./u, (first) => first.toUpperCase());
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

const ANSWERS: Readonly<Record<string, string>> = {
  approved: 'Approved',
  rejected: 'Rejected',
  withdrawn: 'Withdrawn',
};

/** `Approved`, or the chosen option. */
export const resolutionWords = ({ answer, choice }: Pick<Resolution, 'answer' | 'choice'>): string =>
  choice === undefined || choice === answer ? (ANSWERS[answer] ?? answer) : `Answered "${choice}"`;

/** The page of the session or run that asks. */
export const askerPath = ({ of, session }: Pick<ReviewInfo, 'of' | 'session'>): string =>
  of === 'run' ? `/runs/${encodeURIComponent(session)}` : `/sessions/${encodeURIComponent(session)}`;

/** Whether a review belongs on the page of a session or run: it asks itself, or a run or sub-agent below it does. */
export const isAskedIn = (
  { session, above = [] }: Pick<ReviewInfo, 'session' | 'above'>,
  stream: string,
): boolean => session === stream || above.includes(stream);

/** Codes for an answer that came too late. They are news, not failures. */
const LATE: ReadonlySet<string> = new Set(['review_answered', 'review_withdrawn']);

export const cameLate = (code: string): boolean => LATE.has(code);
