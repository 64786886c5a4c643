import { describe, expect, it } from 'vitest';
import { examples } from './example-run.ts';
import { runProgram } from './run-program.ts';

describe('examples/library', () => {
  it('prints what expected.txt says', { timeout: 60_000 }, async () => {
    const { code, stdout, stderr } = await runProgram(`${examples}/library`, 'main.ts');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    await expect(stdout).toMatchFileSnapshot(`${examples}/library/expected.txt`);
  });
});
