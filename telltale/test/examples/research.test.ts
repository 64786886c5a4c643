import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serve } from '../../../examples/research/serve.mjs';
import { type ExampleRun, examples, expectEvents, expectSoundLog, runExample } from './example-run.ts';

const folder = `${examples}/research`;
const input = 'How hard are storms on the harbour?';
let site: Awaited<ReturnType<typeof serve>>;
let run: ExampleRun;

beforeAll(async () => {
  site = await serve(0);
  run = await runExample({ folder, input, env: { RESEARCH_PORT: String(site.port) } });
});
afterAll(() => site.close());

describe('examples/research', () => {
  it('does what expected.events.jsonl says', async () => {
    await expectEvents('research', run.events, { 'http://SITE': `http://127.0.0.1:${site.port}` });
  });

  it('has a log that is sound', () => expectSoundLog(run.events));

  it('asked the site for each page once', () => {
    expect(site.asked.toSorted()).toEqual(['/harbour.md', '/index.json', '/lighthouse.md', '/storms.md']);
  });

  it('says that it knows nothing where the site is down', async () => {
    const gone = await serve(0);
    await gone.close();
    const { result, events } = await runExample({ folder, input, env: { RESEARCH_PORT: String(gone.port) } });
    expect(result).toMatchObject({ status: 'completed' });
    expect(result.result).toContain('I know nothing');
    expect(events.filter(({ type }) => type === 'action.skipped')).not.toEqual([]);
    expectSoundLog(events);
  });
});
