import type { ReviewDetails } from '../../agent/reviews/read-review.ts';
import { YES_OR_NO } from '../../agent/reviews/read-review.ts';
import { type Covered, uncoveredText } from '../../lib/approved-files.ts';
import { identityText } from '../../lib/ids.ts';
import { invisibleWarning, textsIn } from '../../lib/text.ts';
import type { OpenReview } from '../../log/reviews.ts';
import { shellWord } from '../options.ts';
import { agoText, timeText } from '../view/figures.ts';
import { harmlessLine, spelledOut } from '../view/harmless.ts';

/** The whole review for the person who decides. Control characters are made visible. */
export function reviewLines(
  review: ReviewDetails,
  { now, ...typed }: { readonly now: number; readonly flag: string; readonly program: string },
): readonly string[] {
  return [
    ...headLines(review, now),
    ...warningLines(review),
    '',
    spelledOut(review.what),
    ...(review.input === undefined || review.kind === 'plan'
      ? []
      : ['', 'Parameters', ...jsonLines(review.input)]),
    ...coverageLines(review),
    ...planLines(review),
    ...changeLines(review),
    ...workLines(review),
    ...(review.status === 'open' ? ['', 'Answer with', ...answerCommands(review, typed)] : []),
  ];
}

function headLines(review: ReviewDetails, now: number): readonly string[] {
  const { of, session, agent, workflow, parent, action, due, assignee, definition } = review;
  const where = workflow === undefined ? agent : `${workflow} of ${agent}`;
  const options = review.options ?? YES_OR_NO;
  return [
    `review      ${review.review}`,
    `kind        ${review.kind}`,
    `status      ${statusText(review)}`,
    `asked       ${timeText(review.at)} (${agoText(now - review.at)})`,
    ...(due === undefined ? [] : [`due         ${timeText(due)}`]),
    `${of.padEnd(12)}${spelledOut(session)} (${spelledOut(where)})`,
    ...(parent === undefined ? [] : [`called by   ${spelledOut(parent)}`]),
    `${(of === 'run' ? 'step' : 'action').padEnd(12)}${spelledOut(action)}`,
    `target      ${spelledOut(review.target)}`,
    `because     ${spelledOut(review.because)}`,
    ...(review.always === undefined ? [] : [`always      ${spelledOut(review.always)}`]),
    ...(assignee === undefined ? [] : [`assignee    ${spelledOut(assignee)}`]),
    `answers     ${options.map(spelledOut).join(', ')}`,
    ...(definition === undefined ? [] : [`definition  ${definition}`]),
  ];
}

/** Warns if the text may look different from what it is. */
function warningLines({
  what,
  target,
  action,
  because,
  input,
  plan,
  options = [],
}: ReviewDetails): readonly string[] {
  const warning = invisibleWarning(what, target, action, because, ...textsIn([input, plan]), ...options);
  return warning === undefined ? [] : ['', `warning: ${warning}`];
}

function statusText({ status, decision, voided }: ReviewDetails): string {
  if (decision === undefined) return status;
  const { choice, by, at, note, always } = decision;
  const scope = always === true ? ' for the session' : '';
  const chosen = choice === undefined || choice === status ? '' : ` (${spelledOut(choice)})`;
  const said = note === undefined ? '' : `: ${spelledOut(note)}`;
  const end = voided === undefined ? '' : `; void since ${timeText(voided.at)}`;
  return `${status}${scope}${chosen} by ${spelledOut(identityText(by))}, ${timeText(at)}${said}${end}`;
}

function changeLines({ replaces, voided }: ReviewDetails): readonly string[] {
  return [
    ...(replaces === undefined
      ? []
      : ['', `It is asked in place of ${replaces.review}, because`, ...items(replaces.changed)]),
    ...(voided === undefined
      ? []
      : ['', 'Its approval is no longer valid, because', ...items(voided.changed)]),
  ];
}

/** The files that an approval covers, and a warning if these may not be all. */
export function coverageLines(covered: Covered): readonly string[] {
  const { files = [] } = covered;
  const warning = uncoveredText(covered);
  return [
    ...(files.length === 0 ? [] : ['', 'Files that an approval covers']),
    ...files.map(
      ({ path, content, leads }) =>
        `  ${spelledOut(path)}${leads === undefined ? '' : ` -> ${spelledOut(leads)}`}  ${content}`,
    ),
    ...(warning === undefined ? [] : ['', ...spelledOut(warning).split('\n')]),
  ];
}

/** A question about a plan contains the plan. */
function planLines({ plan, what }: ReviewDetails): readonly string[] {
  if (plan === undefined || plan.every((planned) => what.includes(JSON.stringify(planned.parameters))))
    return [];
  const lines = plan.flatMap(({ action, parameters, expect }, index) => [
    `  ${index + 1}. ${spelledOut(action)} ${spelledOut(JSON.stringify(parameters))}`,
    ...(expect === undefined ? [] : [`     expects ${spelledOut(expect)}`]),
  ]);
  return ['', 'Plan', ...lines];
}

/** What the agent and the verifier said, in the order of the reports. */
function workLines({ work }: ReviewDetails): readonly string[] {
  if (work === undefined) return [];
  const { claims, stuck, verdicts } = work;
  return [
    ...claims.flatMap(({ nth, by, notes, turns }) => [
      '',
      `Notes of report ${nth}, by ${spelledOut(identityText(by))} after ${turns} turns`,
      ...indented(notes),
    ]),
    ...stuck.flatMap(({ nth, by, why }) => [
      '',
      `Stuck at report ${nth}, ${spelledOut(by)}`,
      ...indented(why),
    ]),
    ...verdicts.flatMap(({ nth, by, assessment, confidence, reasoning, instruction, fallback }) => [
      '',
      `Verifier on report ${nth}: ${assessment}${confidence === undefined ? '' : ` (${confidence})`}, by ${spelledOut(by)}`,
      ...indented(reasoning),
      ...(instruction === undefined ? [] : indented(`It asks for: ${instruction}`)),
      ...(fallback === undefined ? [] : indented(`It counts because ${fallback}`)),
    ]),
  ];
}

const indented = (text: string): readonly string[] =>
  spelledOut(text)
    .split('\n')
    .map((line) => `  ${line}`);

const items = (texts: readonly string[]): readonly string[] => texts.map((text) => `  - ${spelledOut(text)}`);

const jsonLines = (value: unknown): readonly string[] => indented(JSON.stringify(value, null, 2));

/** How many options commands list. A step may have any number of them. */
const MAX_NAMED = 10;

/** The commands that answer a review, each with its meaning. */
function answerCommands(
  { review, kind, options = YES_OR_NO, always }: Pick<OpenReview, 'review' | 'kind' | 'options' | 'always'>,
  { flag, program }: { readonly flag: string; readonly program: string },
): readonly string[] {
  const command = (what: string) => `  ${program} reviews ${what}${flag}`;
  if (kind === 'escalation' && options.includes('retry'))
    return [
      command(`answer ${review} 'what the agent is to do'`),
      ...options
        .filter((option) => option !== 'retry')
        .slice(0, MAX_NAMED)
        .map((option) => command(`answer ${review} --choice ${wordOf(option)}`)),
    ];
  if (YES_OR_NO.every((option) => options.includes(option)) && options.length === YES_OR_NO.length)
    return [
      command(`approve ${review}`),
      ...(always === undefined ? [] : [command(`approve ${review} --always`)]),
      command(`reject ${review} --note 'why'`),
    ];
  return options.slice(0, MAX_NAMED).map((option) => command(`answer ${review} --choice ${wordOf(option)}`));
}

const wordOf = (option: string): string => shellWord(harmlessLine(option));
