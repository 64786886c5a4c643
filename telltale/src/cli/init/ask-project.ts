import process from 'node:process';
import type { Io } from '../io.ts';
import { TRANSCRIPT } from './project-files.ts';
import { isProjectName } from './project-name.ts';

export interface Asked {
  readonly name: string;
  readonly model: string;
}

/** Asks on the terminal; undefined where the person thinks better of it. */
export async function askProject(given: Asked, io: Io): Promise<Asked | undefined> {
  const { intro, isCancel, select, text } = await import('@clack/prompts');
  const edges = { input: process.stdin, output: process.stdout, signal: io.signal };
  intro('A new Telltale project', edges);
  const name = await text({
    message: 'What is the agent called?',
    initialValue: given.name,
    validate: (value) =>
      isProjectName(value ?? '') ? undefined : 'Letters, digits, _ and -; a letter first.',
    ...edges,
  });
  if (isCancel(name)) return undefined;
  const model = await select({
    message: 'Which model does it run on?',
    initialValue: given.model,
    options: [
      { value: TRANSCRIPT, label: 'A transcript', hint: 'no key; change it later in agent.yml' },
      { value: 'anthropic/claude-sonnet-4-5', label: 'Anthropic', hint: 'needs ANTHROPIC_API_KEY' },
      { value: 'openai/gpt-5', label: 'OpenAI', hint: 'needs OPENAI_API_KEY' },
      { value: 'google/gemini-2.5-pro', label: 'Google', hint: 'needs GOOGLE_GENERATIVE_AI_API_KEY' },
      { value: 'ollama/qwen3', label: 'Ollama', hint: 'a model on this machine' },
    ],
    ...edges,
  });
  return isCancel(model) ? undefined : { name, model };
}
