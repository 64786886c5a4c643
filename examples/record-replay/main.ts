// Records what a model says, then runs the same session again from the recording. Run it: node main.ts [FILE]
import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRuntime, defineAgent, defineTool, type Model } from 'telltale';

const file = process.argv[2] ?? join(await mkdtemp(join(tmpdir(), 'telltale-record-')), 'recorded.yml');

/** Stands for a provider's model: what it says is never the same twice. */
const live: Model = {
  id: 'example/moody',
  async stream({ turn }, sink) {
    const mood = Math.random().toString(36).slice(2, 8);
    sink.text(
      turn === 1
        ? `<thought>I feel ${mood}.</thought><action id="now">{"name":"roll"}</action>`
        : `<response>I felt ${mood}, and rolled $now.</response>`,
    );
    return { finish: 'stop', usage: { input: 100, output: 20 } };
  },
};

let rolled = 0;
const roll = defineTool({ name: 'roll', description: 'Rolls a die.', run: () => ++rolled });

const agent = await defineAgent({ name: 'diarist', model: live, tools: [roll] });
const runtime = await createRuntime({ store: 'memory' });

const first = await runtime.start(agent, { input: 'How are you?', record: file }).result;
const again = await runtime.start(agent, { input: 'How are you?', model: `scripted:${file}` }).result;
const other = await runtime.start(agent, { input: 'How are you?' }).result;
const turns = (await Promise.all([first, again, other].map(({ session }) => runtime.events(session))))
  .flat()
  .flatMap((event) => (event.type === 'turn.started' ? [event.prompt] : []));
await runtime.close();

const words = ({ result }: typeof first) => result?.replace(/rolled \d+/, 'rolled N');
console.log(
  'recorded',
  (await readFile(file, 'utf8')).split('\n').filter((line) => /^ {2}- /.test(line)).length,
  'turns',
);
console.log('the replay says the same words:', words(again) === words(first));
console.log('another run says the same words:', words(other) === words(first));
console.log('the tool really ran', rolled, 'times');
console.log(
  'each prompt begins with all of the one before it:',
  turns.every((prompt) => prompt.reused_prefix === 1),
);
