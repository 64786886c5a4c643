import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { expectSecrecy, lead, tasks } from './led-example.ts';

describe('examples/guided-change', () => {
  const REPORT = 'Discounted prices are rounded down. They should be rounded to the nearest cent.';

  it('takes five requests to the model for five steps, and fixes the bug', async () => {
    const { result, model, folder, run } = await lead('guided-change', 'mender', REPORT);
    expect(result).toMatchObject({ status: 'completed', turns: 5 });
    expect(model.prompts).toHaveLength(5);
    expect(tasks(run)).toEqual(['understand', 'propose', 'change', 'record', 'tell']);
    expect(readFileSync(join(folder, 'work/price.mjs'), 'utf8')).toContain('Math.round(');
    expect(run.flatMap((event) => (event.type === 'verify' ? [event.assessment] : []))).toEqual(['pass']);
    expect(run.some(({ type }) => type === 'model.used')).toBe(false);
  });

  it('lets neither a wrong change nor a borrowed proof through', async () => {
    const { result, folder, run } = await lead('guided-change', 'careless', REPORT);
    expect(result).toMatchObject({ status: 'completed', turns: 7 });
    expect(run.flatMap((event) => (event.type === 'verify' ? [event.assessment] : []))).toEqual([
      'retry',
      'pass',
    ]);
    expect(tasks(run)).toEqual(['understand', 'propose', 'change', 'change', 'record', 'tell']);
    expect(readFileSync(join(folder, 'work/CHANGES.md'), 'utf8')).toContain('rounded to the nearest cent');
  });

  it('shows its agent the step in hand, nothing of those to come, and no name of any', async () => {
    await expectSecrecy('guided-change', 'mender', REPORT);
    await expectSecrecy('guided-change', 'careless', REPORT);
  });
});
