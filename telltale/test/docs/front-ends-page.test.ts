import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect, it, onTestFinished, vi } from 'vitest';
import { final, openStage } from '../server/protocols/protocol-stage.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const page = readFileSync(`${ROOT}docs/front-ends.md`, 'utf8');
const programs = [...page.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code ?? '');

it('the programs of docs/front-ends.md do what they say', async () => {
  const status = { values: ['IDLE', 'TALKING'] };
  const stage = await openStage({
    helper: {
      turns: [`<metadata>{"status": "TALKING"}</metadata>${final('Good day.')}`, final('Still here.')],
      metadata: { fields: { status } },
    },
  });
  const folder = mkdtempSync(join(tmpdir(), 'telltale-front-ends-'));
  const log = vi.spyOn(console, 'log').mockImplementation(() => undefined);
  onTestFinished(async () => {
    log.mockRestore();
    rmSync(folder, { recursive: true });
    await stage.close();
  });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  for (const [index, code] of programs.entries()) {
    const file = join(folder, `${index}.mts`);
    const here = code
      .replaceAll('http://127.0.0.1:4800', stage.url)
      .replaceAll('process.env.TELLTALE_TOKEN', JSON.stringify(stage.token));
    writeFileSync(file, here);
    await import(pathToFileURL(file).href);
  }
  const said = log.mock.calls.map((call) =>
    call.map((each) => (typeof each === 'string' ? each : JSON.stringify(each))),
  );
  expect(said.map((words) => words.join(' '))).toEqual([
    'metadata: {}',
    'metadata: {"status":"TALKING"}',
    'Goo',
    'd da',
    'y.',
    'result: Still here.',
    'text: Good day.',
    'whole: Good day. true',
    'streamed: Good day.',
  ]);
});
