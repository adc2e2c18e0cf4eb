export { AuthService, logout } from "./auth/service";
export * from "./http";
