import { vi } from 'vitest';

vi.mock('../../../src/tools/process/find-sandbox.ts', async (original) => ({
  ...(await original<object>()),
  createSandboxFinder: () => async () => ({ found: false, reason: 'bwrap not found' }),
}));

// What commands, the shell and git promise holds with and without a sandbox: the same tests once more.
await import('../command-tool.test.ts');
await import('../shell.test.ts');
await import('../git.test.ts');
