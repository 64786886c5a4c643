import { type FormEvent, useState } from 'react';
import type { ErrorJson } from '../../../telltale/src/kernel/runtime-error.ts';
import { tokenIn } from '../data/token-vault.ts';
import { useSignIn } from '../data/use-sign-in.ts';
import { Button } from '../ui/button.tsx';
import { Code } from '../ui/code.tsx';
import { Field } from '../ui/field.tsx';
import { Logo } from './logo.tsx';

/** In place of the pages while the server wants a token. */
export function TokenPrompt({ error }: { readonly error: ErrorJson }) {
  const { token, signIn } = useSignIn();
  const [text, setText] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim() !== '') signIn(tokenIn(text));
  };
  return (
    <main className="flex min-h-full items-center justify-center p-4">
      <form
        onSubmit={submit}
        className="flex w-full max-w-md flex-col gap-4 rounded-xl border border-line bg-surface p-6"
      >
        <div className="flex items-center gap-2 text-title font-semibold">
          <Logo />
          <h1>Telltale</h1>
        </div>
        <p className="text-ink-soft">
          To sign in, open the link that <code>telltale dev</code> or <code>telltale serve</code> printed, or
          paste it here.
        </p>
        <Field
          label="Link or token"
          error={token === undefined ? undefined : `${error.message} ${error.hint ?? ''}`}
          hint="This tab keeps it until you close the tab."
        >
          {(tie) => (
            <input
              {...tie}
              type="password"
              autoComplete="off"
              spellCheck={false}
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
          )}
        </Field>
        <Button kind="primary" type="submit" icon="key">
          Sign in
        </Button>
        <div className="text-small text-ink-faint">
          <p className="mb-1">To print the link again, run this on the server’s machine, in its folder:</p>
          <Code text="telltale token link" />
        </div>
      </form>
    </main>
  );
}
