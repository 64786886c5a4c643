import { Component, type ReactNode } from 'react';
import { type ErrorJson, toRuntimeError } from '../../../telltale/src/kernel/runtime-error.ts';
import { ErrorState } from '../ui/error-state.tsx';
import { MissingCode } from './lost-server.tsx';

export interface ErrorBoundaryProps {
  /** Where we are: another place begins without the error of the one before. */
  readonly at: string;
  readonly children: ReactNode;
}

interface Caught {
  readonly at: string;
  readonly error?: ErrorJson | undefined;
}

/** What Chrome, Firefox, Safari and Vite say when a page's script or style cannot be fetched. They do not fetch it again. */
const MISSING_CODE = /dynamically imported module|module script failed|preload CSS/i;

/** A page that breaks, or whose code cannot be fetched, leaves the others alone. React has no other form for it than a class. */
export class ErrorBoundary extends Component<ErrorBoundaryProps, Caught> {
  override state: Caught = { at: this.props.at };

  static getDerivedStateFromProps({ at }: ErrorBoundaryProps, state: Caught): Caught | null {
    return at === state.at ? null : { at, error: undefined };
  }

  static getDerivedStateFromError(thrown: unknown): { readonly error: ErrorJson } {
    return { error: toRuntimeError(thrown).toJSON() };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    return (
      <div className="p-6">
        {MISSING_CODE.test(error.message) ? (
          <MissingCode error={error} />
        ) : (
          <ErrorState
            title="This page stopped working."
            error={error}
            onRetry={() => this.setState({ error: undefined })}
          />
        )}
      </div>
    );
  }
}
