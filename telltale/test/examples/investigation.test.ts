import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/lib/json.ts';
import { examples } from './example-run.ts';
import { expectSecrecy, lead, tasks } from './led-example.ts';

const BIN = fileURLToPath(new URL('../../bin/telltale.js', import.meta.url));

interface Told {
  readonly continueToken?: string;
  readonly isComplete: boolean;
  readonly step?: { readonly prompt: string; readonly requires?: JsonObject };
  readonly error?: { readonly code: string };
}

const NOTES =
  'Looked at the logs of that night, minute by minute, and wrote down what each of them can prove.';

describe('examples/investigation', () => {
  it('asks until it is sure, and then reports', async () => {
    const { result, run } = await lead('investigation', 'detective', 'Why was the light out?');
    expect(result).toMatchObject({ status: 'completed', turns: 5 });
    expect(String(result.result)).toContain('overheated');
    expect(tasks(run).map((step) => step.replace(/.*\//, ''))).toEqual([
      'scene',
      'ask',
      'ask',
      'ask',
      'report',
    ]);
  });

  it('shows its agent the step in hand, nothing of those to come, and no name of any', async () => {
    await expectSecrecy('investigation', 'detective', 'Why was the light out?');
  });

  it('can be worked on by the model of an MCP client', { timeout: 60_000 }, async () => {
    const client = new Client({ name: 'visitor', version: '1.0.0' });
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [BIN, 'mcp', 'agent.yml', '--store', 'memory'],
        cwd: `${examples}/investigation`,
      }),
    );
    const call = async (name: string, args: JsonObject) =>
      (await client.callTool({ name, arguments: { ...args } })).structuredContent as unknown as Told;
    const asked: string[] = [];
    let told = await call('start_workflow', { workflow: 'find_out', goal: 'Why was the light out?' });
    const refused = await call('continue_workflow', {
      continueToken: told.continueToken ?? '',
      notes: 'done',
    });
    expect(refused.error?.code).toBe('notes_refused');
    const suspects = ['the lamp', 'the generator', 'the heat'];
    for (let at = 0; !told.isComplete && at < 10; at++) {
      asked.push(told.step?.prompt.trim().split('\n')[0] ?? '');
      const updates =
        told.step?.requires === undefined
          ? {}
          : { context_updates: { suspect: suspects[at - 1] ?? 'the heat', sure: at === 3 ? 'yes' : 'no' } };
      told = await call('continue_workflow', {
        continueToken: told.continueToken ?? '',
        notes: NOTES,
        ...updates,
      });
    }
    expect(told.isComplete).toBe(true);
    expect(asked).toEqual([
      'Why was the light out?',
      'So far the most likely to blame: nobody.',
      'So far the most likely to blame: the lamp.',
      'So far the most likely to blame: the generator.',
      'Write down the cause, the proof, and what would have prevented it.',
    ]);
    await client.close();
  });
});
