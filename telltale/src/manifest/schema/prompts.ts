import { z } from 'zod';
import { closed } from './closed.ts';
import { modelName, modelRef, modelRefOrAlias } from './model-ref.ts';
import { name, nonEmptyText, text } from './names.ts';

const promptTemplate = closed(
  {
    title: 'a prompt',
    description: 'A prompt that actions of type llm name.',
    slips: {
      prompt: 'Use "template" for the text of a prompt.',
      text: 'Use "template" for the text of a prompt.',
    },
  },
  {
    template: nonEmptyText('The text; {name} stands for a parameter of the action.'),
    model: modelRefOrAlias("The model to ask; the agent's own if absent.").optional(),
    description: text('What it is for; the model reads it.').optional(),
  },
);

export const prompts = z
  .record(name('The name of a prompt.'), promptTemplate)
  .describe('What actions of type llm name. Built in: summarize, extract, classify.');

export const models = z
  .record(
    modelName('A name for a model.'),
    modelRef('provider/model or scripted:FILE. Claude, GPT and Gemini models need no provider.'),
  )
  .describe('Names of models, usable in llm actions, verifiers and llm feeds.');
