import { bullets, section, sections } from './prompt-text.ts';
import type { Assessment } from './shape.ts';
import type { TaskStep } from './shape-step.ts';

type Consequences = NonNullable<TaskStep['assessmentConsequences']>;

const dimensionLines = ({ dimensions }: Assessment): readonly string[] =>
  dimensions.map(
    ({ id, levels, purpose, required }) =>
      `- ${id} (${levels.join(' | ')})${required === false ? ', where it applies' : ''}: ${purpose}`,
  );

/** What the agent is told of how its step will be judged. */
export const judgedBy = (assessments: readonly Assessment[]): string | undefined =>
  section('How this step is judged', [
    'Say in your notes which level you give each of these, and what it rests on; somebody else judges it, too.',
    ...assessments.flatMap((each) => [`${each.purpose}`, ...dimensionLines(each)]),
  ]);

/** What a second model judges by: the levels of each dimension, and what follows from them. */
export function judgeInstructions(
  assessments: readonly Assessment[],
  consequences: Consequences,
  rules: readonly string[],
): string {
  return sections([
    'Judge the step by these dimensions. Give each one of its levels, from what was done and what the notes bear out; a level that the notes only claim does not count.',
    ...assessments.map((each) => `${each.purpose}\n${dimensionLines(each).join('\n')}`),
    consequences.length === 0
      ? 'Pass the step once every dimension can be given a level. Else let it be done again, and name what is missing.'
      : consequences.map(consequenceText).join('\n'),
    rules.length === 0 ? undefined : `The notes must also meet this:\n${bullets(rules).join('\n')}`,
    consequences.length === 0
      ? undefined
      : 'Pass the step where none of that is the case. Where it cannot be told, escalate.',
  ]);
}

const consequenceText = ({ when, effect }: Consequences[number]): string => {
  const { anyEqualsLevel, forAssessment, dimensionId, equalsLevel } = when;
  const whose = forAssessment === undefined ? '' : ` of "${forAssessment}"`;
  const which = dimensionId === undefined ? 'a dimension' : `the dimension "${dimensionId}"`;
  return `Where ${which}${whose} is at the level "${anyEqualsLevel ?? equalsLevel}", let it be done again, with this: ${effect.guidance}`;
};

/** For a gate that WorkRail leaves to a model. */
export const GATE_INSTRUCTIONS =
  'Judge whether the result of this step may be built upon: whether it does what was asked for, is borne out by what was done, and leaves nothing open that it should have settled. Let it be done again where the agent can mend it; escalate where a person has to decide.';
