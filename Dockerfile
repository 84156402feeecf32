FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS=linux
ARG TARGETARCH=amd64
ARG VERSION=dev
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath \
    -ldflags="-s -w -X strata/cli.version=$VERSION" \
    -o /out/strata .
RUN install -d -m 0700 /out/data

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build --chmod=0755 /out/strata /strata
COPY --from=build --chown=65532:65532 --chmod=0700 /out/data /var/lib/strata
ENV STRATA_DATA_DIR=/var/lib/strata
VOLUME /var/lib/strata
# The data plane; the control plane (4471) stays on loopback. 4472 is for
# probes from outside, where STRATA_HEALTH_LISTEN turns them on.
EXPOSE 4470 4472
USER 65532:65532
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s --retries=3 CMD ["/strata", "healthcheck"]
ENTRYPOINT ["/strata"]
CMD ["serve"]
