import { z } from 'zod';
import { choiceByKey } from '../choice.ts';
import { commandLine } from '../hooks.ts';
import { jsonObject } from '../json-value.ts';
import { nonEmptyText, text } from '../names.ts';
import { defineStep } from './define-step.ts';

const slips = {
  source: 'Use "script".',
  code: 'Use "script".',
  run: 'Use "script" or "command".',
  shell: 'Write "command" as a list, because no shell is used.',
};

const javascript = () =>
  defineStep(
    'script',
    { description: 'Sandboxed JavaScript.', slips },
    {
      type: z.literal('script'),
      script: nonEmptyText('Sandboxed JavaScript; its last value is the result.'),
      parameters: jsonObject('What it sees as "parameters".').prefault({}),
    },
  );

const command = () =>
  defineStep(
    'script',
    { description: 'A program.', slips },
    {
      type: z.literal('script'),
      command: commandLine('The program and its arguments; never passed through a shell.'),
      cwd: nonEmptyText('The folder it runs in.').optional(),
      env: z.record(z.string(), z.string()).prefault({}).describe('Environment variables for it.'),
      stdin: text('What it reads from standard input.').optional(),
    },
  );

export const scriptStep = () => choiceByKey('A script step', { script: javascript(), command: command() });
