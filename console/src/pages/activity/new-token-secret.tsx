import { useState } from 'react';
import type { CreatedToken } from '../../../../telltale/src/client/api.ts';
import { Button } from '../../ui/button.tsx';
import { Code } from '../../ui/code.tsx';
import { Icon } from '../../ui/icon.tsx';

/** The token itself, this once; the server keeps only its hash. */
export function NewTokenSecret({ token }: { readonly token: CreatedToken }) {
  const [copied, setCopied] = useState<'no' | 'yes' | 'failed'>('no');
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(token.token);
      setCopied('yes');
    } catch {
      // Not every page may write to the clipboard: the token stays there to be selected.
      setCopied('failed');
    }
  };
  return (
    <div className="flex flex-col gap-3">
      <p className="flex gap-2 rounded-md bg-wait-soft px-3 py-2">
        <Icon name="alert" className="mt-0.5 text-wait" />
        Keep it now: it is shown this once, and can be read nowhere again.
      </p>
      <Code text={token.token} />
      <div className="flex items-center gap-3">
        <Button kind="primary" icon={copied === 'yes' ? 'check' : 'copy'} onClick={() => void copy()}>
          {copied === 'yes' ? 'Copied' : 'Copy'}
        </Button>
        <span role="status" className="text-small text-ink-soft">
          {copied === 'yes' ? 'Copied to the clipboard.' : ''}
          {copied === 'failed' ? 'The browser does not allow it: select the token above and copy it.' : ''}
        </span>
      </div>
      <p className="text-small text-ink-faint">
        It is sent with every request, as “Authorization: Bearer TOKEN”.
      </p>
    </div>
  );
}
