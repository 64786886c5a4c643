import { Component, type ReactNode } from 'react';
import { type ErrorJson, toRuntimeError } from '../../../telltale/src/kernel/runtime-error.ts';
import { ErrorState } from '../ui/error-state.tsx';

export interface ErrorBoundaryProps {
  readonly children: ReactNode;
}

/** A page that breaks, or whose code cannot be fetched, leaves the others alone. React has no other form for it than a class. */
export class ErrorBoundary extends Component<ErrorBoundaryProps, { readonly error?: ErrorJson | undefined }> {
  override state: { readonly error?: ErrorJson | undefined } = {};

  static getDerivedStateFromError(thrown: unknown): { readonly error: ErrorJson } {
    return { error: toRuntimeError(thrown).toJSON() };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    return (
      <div className="p-6">
        <ErrorState
          title="This page broke."
          error={error}
          onRetry={() => this.setState({ error: undefined })}
        />
      </div>
    );
  }
}
