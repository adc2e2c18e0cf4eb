/**
 * Authentication for the web client.
 * Created: 2024-03-15
 */
import { get } from "../http";
import jwt from "jsonwebtoken";

/** Signs people in and keeps their token fresh. */
export class AuthService {
  /** Returns whether the token is good. */
  async validateToken(token: string): Promise<boolean> {
    const claims = jwt.decode(token);
    const now = Date.now() / 1000;
    return claims != null && claims.exp > now;
  }

  private refresh(token: string) {
    const path = "/refresh";
    const body = { token };
    return get(path, body);
  }
}

export function logout(token: string): void {
  const path = "/logout";
  get(path, { token });
}
