import { useState } from 'react';
import type { ArtifactSource, WriteArtifact } from '../../../../telltale/src/client/api.ts';
import { useBlocked } from '../../data/use-blocked.ts';
import { useCall } from '../../data/use-call.ts';
import { useData } from '../../data/use-data.ts';
import { Button } from '../../ui/button.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { Field } from '../../ui/field.tsx';
import { TextArea } from '../../ui/text-area.tsx';
import { ArtifactTest } from './artifact-test.tsx';

export interface WriteVersionProps {
  readonly newest: ArtifactSource;
  readonly onWritten: (version: number) => void;
}

/** A draft, based on the newest version. It can be tested before it is in use. */
export function WriteVersion({ newest, onWritten }: WriteVersionProps) {
  const { name, version } = newest;
  const { toasts } = useData();
  const blocked = useBlocked('admin');
  const [source, setSource] = useState(newest.source);
  const [methods, setMethods] = useState(newest.methods.join(', '));
  const [isTrying, setTrying] = useState(false);
  const write = useCall((client, options, draft: WriteArtifact) =>
    client.writeArtifact(name, draft, options),
  );
  const named = methods.split(/[\s,]+/).filter(Boolean);
  const onWrite = async () => {
    const { description } = newest;
    const made = await write.run({
      source,
      methods: named,
      ...(description === undefined ? {} : { description }),
    });
    if (made === undefined) return;
    toasts.say('done', `Version ${made.version} of ${name} is in use.`);
    onWritten(made.version);
  };
  return (
    <div>
      <div className="flex flex-col gap-4 p-4">
        <TextArea
          label="Source"
          hint="JavaScript with the methods as exported functions. It is loaded once in the sandbox before it is kept."
          rows={16}
          spellCheck={false}
          value={source}
          onText={setSource}
          className="font-mono text-small"
        />
        <Field label="Methods" hint="The functions that others may call, separated by commas.">
          {(tie) => <input {...tie} value={methods} onChange={(event) => setMethods(event.target.value)} />}
        </Field>
        {write.error === undefined ? null : (
          <ErrorState title="The version was not written." error={write.error} />
        )}
        <div className="flex flex-wrap gap-2">
          <Button
            kind="primary"
            icon="check"
            busy={write.busy}
            blocked={
              blocked ??
              (named.length === 0
                ? 'Name a method first.'
                : source === newest.source && methods === newest.methods.join(', ')
                  ? `It says what version ${version} says.`
                  : undefined)
            }
            onClick={() => void onWrite()}
          >
            Use version {version + 1}
          </Button>
          <Button icon="play" aria-expanded={isTrying} onClick={() => setTrying(!isTrying)}>
            Try the draft
          </Button>
        </div>
      </div>
      {isTrying ? (
        <div className="border-t border-line">
          <ArtifactTest artifact={{ name, version, methods: named }} source={source} />
        </div>
      ) : null}
    </div>
  );
}
