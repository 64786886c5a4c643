import { readFileSync } from 'node:fs';

/** Something that a user installs into an empty folder to get a first answer from an agent. */
export interface InstallContestant {
  readonly name: string;
  /** What `npm install` is given. */
  readonly packages: readonly string[];
  /** Written after the installation. */
  readonly files: Readonly<Record<string, string>>;
  /** Arguments of Node for the program that prints the answer. */
  readonly program: readonly string[];
}

export const ANSWER = 'Two suppliers were late.';

/** The packed tarball, an agent and a scripted model, as in the first example of the README. */
export const telltale = (tarball: string): InstallContestant => ({
  name: 'telltale',
  packages: [tarball],
  files: {
    'agent.yml': 'kind: Agent\nname: first\nmodel: scripted:./turns.yml\ninstructions: Answer briefly.\n',
    'turns.yml': `turns:\n  - <response final="true">${ANSWER}</response>\n`,
  },
  program: ['node_modules/telltale/bin/telltale.js', 'run', 'agent.yml', 'Who was late?', '--quiet'],
});

const PROGRAM = `
import { Agent } from '@mastra/core/agent';

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
const model = {
  specificationVersion: 'v2',
  provider: 'scripted',
  modelId: 'scripted',
  supportedUrls: {},
  doGenerate: () => Promise.reject(new Error('This model streams.')),
  doStream: async () => ({
    stream: new ReadableStream({
      start(controller) {
        controller.enqueue({ type: 'stream-start', warnings: [] });
        controller.enqueue({ type: 'text-start', id: '1' });
        controller.enqueue({ type: 'text-delta', id: '1', delta: '${ANSWER}' });
        controller.enqueue({ type: 'text-end', id: '1' });
        controller.enqueue({ type: 'finish', finishReason: 'stop', usage });
        controller.close();
      },
    }),
  }),
};
const agent = new Agent({ id: 'first', name: 'first', instructions: 'Answer briefly.', model });
const output = await agent.stream('Who was late?');
let text = '';
for await (const piece of output.textStream) text += piece;
console.log(text);
process.exit();
`;

/**
 * Mastra with the least that its quick start needs to run an agent: `@mastra/core` and `zod`, without its command line and
 * TypeScript. The versions are those of the other benches.
 */
export function mastra(): InstallContestant {
  const { dependencies } = JSON.parse(
    readFileSync(new URL('../peers/package.json', import.meta.url), 'utf8'),
  ) as { readonly dependencies: Readonly<Record<string, string>> };
  return {
    name: `Mastra ${dependencies['@mastra/core']}`,
    packages: ['@mastra/core', 'zod'].map((name) => `${name}@${dependencies[name]}`),
    files: { 'first.mjs': PROGRAM },
    program: ['first.mjs'],
  };
}
