import { z } from 'zod';
import { choice, choiceByKey } from '../choice.ts';
import { PROMPT_KEYS, promptKeys } from '../decision.ts';
import { invocation } from '../invocation.ts';
import { isMap } from '../is-map.ts';
import { jsonValue } from '../json-value.ts';
import { modelRefOrAlias } from '../model-ref.ts';
import { name, nonEmptyText } from '../names.ts';
import { defineStep } from './define-step.ts';

const slips = {
  to: 'Put "to" into an entry of "transitions".',
  options: 'Use "transition_map".',
  map: 'Use "transition_map".',
  source: 'Use "transition_source".',
};

const byModel = () =>
  defineStep(
    'transition',
    { description: 'A model chooses one of the answers.', exactlyOne: [PROMPT_KEYS], slips },
    {
      type: z.literal('transition'),
      ...promptKeys('What is asked.'),
      transition_map: z
        .record(nonEmptyText('An answer.'), name('The state it leads to.'))
        .describe('The answers, each with the state it leads to.'),
      model: modelRefOrAlias("The model; the agent's own if absent.").optional(),
    },
  );

const mapped = () =>
  defineStep(
    'transition',
    {
      description: 'An artifact gives one of the answers.',
      slips: { ...slips, prompt: 'Remove it. An artifact decides here, without a prompt.' },
    },
    {
      type: z.literal('transition'),
      transition_source: invocation(
        'AnswerInvocation',
        jsonValue('What counts when the artifact is missing, fails or is too slow: an answer, or a state.'),
      ),
      transition_map: z
        .record(
          nonEmptyText('What the artifact returns, as text: `true`, `3`, `pivot`.'),
          name('The state it leads to.'),
        )
        .describe('What the artifact may return, each with the state it leads to.'),
    },
  );

const byArtifact = () =>
  defineStep(
    'transition',
    {
      description: 'An artifact names the state.',
      slips: { ...slips, prompt: 'Remove it. An artifact decides here, without a prompt.' },
    },
    {
      type: z.literal('transition'),
      transition_source: invocation(
        'StateInvocation',
        name('The state when the artifact is missing, fails or is too slow.'),
      ),
    },
  );

export const transitionStep = () => {
  const [model, artifact, both] = [byModel(), byArtifact(), mapped()];
  const one = choiceByKey('A transition step', { transition_map: model, transition_source: artifact });
  return choice([model, artifact, both], (value) =>
    isMap(value) && value.transition_source !== undefined && value.transition_map !== undefined ? both : one,
  );
};
