import { createContext, useContext } from 'react';

export interface SignIn {
  readonly token: string | undefined;
  /** From now on the server is asked with this token; undefined: with none. */
  readonly signIn: (token: string | undefined) => void;
}

export const SignInContext = createContext<SignIn>({ token: undefined, signIn: () => undefined });

export const useSignIn = (): SignIn => useContext(SignInContext);
