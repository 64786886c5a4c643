import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { identityText, mcpIdentity, onBehalfOf, tokenIdentity, userIdentity } from '../../src/lib/ids.ts';

describe('an identity', () => {
  it('is shown in words, and what older logs say as it is', () => {
    expect(identityText(userIdentity('ana'))).toBe('ana');
    expect(identityText(tokenIdentity('ci'))).toBe('ci (token)');
    expect(identityText(onBehalfOf(userIdentity('ana'), 'bob'))).toBe('ana (for bob)');
    expect(identityText(onBehalfOf(tokenIdentity('ci'), 'bob'))).toBe('ci (token) (for bob)');
    expect(identityText(mcpIdentity(tokenIdentity('ci'), 'Claude Code'))).toBe(
      'ci (token) (Claude Code) over MCP',
    );
    for (const word of ['local', 'runtime', 'api', 'hook push', '']) expect(identityText(word)).toBe(word);
  });

  it('of a token cannot be that of a user, and is not shown as one', () => {
    expect(tokenIdentity('ana')).not.toBe(userIdentity('ana'));
    expect(identityText(tokenIdentity('ana'))).not.toBe(identityText(userIdentity('ana')));
  });

  it('is on one line whatever a client calls itself, and begins with what is known of it', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (claimed) => {
        const identity = mcpIdentity(userIdentity('ana'), claimed);
        expect(identity).toMatch(/^mcp:user:ana(?: \([^()\p{C}\p{Zl}\p{Zp}]*\))?$/u);
        expect(identity.length).toBeLessThan(200);
        expect(userIdentity(claimed)).toMatch(/^user:[^()\p{C}\p{Zl}\p{Zp}]+$/u);
      }),
    );
    expect(mcpIdentity('token:ci', 'x) token:boss (y')).toBe('mcp:token:ci (x token:boss y)');
  });
});
