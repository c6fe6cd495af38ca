;;; A Guix package of a checkout: `guix build -f cmake/packaging/guix/espalier.scm`, or
;;; `guix shell -D -f …` for what building needs. runtime_tests/package holds that the
;;; options named here are those of the build. Never built: no Guix was at hand.

(use-modules (guix packages)
             (guix gexp)
             (guix build-system cmake)
             (gnu packages)
             ((guix licenses) #:prefix license:))

(package
  (name "espalier")
  (version "0.1.0")
  (source (local-file "../../.." "espalier-checkout"
                      #:recursive? #t
                      #:select? (lambda (file stat)
                                  (not (member (basename file) '("build" ".git"))))))
  (build-system cmake-build-system)
  (arguments
   (list
    #:tests? #f                 ; they start many processes and take minutes
    #:configure-flags
    #~(list "-GNinja"
            "-DESPALIER_BUILD_TESTS=OFF"
            "-DESPALIER_WITH_STARPU=ON"
            "-DESPALIER_WITH_MPI=OFF"
            "-DESPALIER_WITH_METIS=ON"
            "-DESPALIER_WITH_SCOTCH=ON"
            "-DESPALIER_WITH_HWLOC=ON"
            "-DESPALIER_WITH_ONNX=OFF"
            "-DESPALIER_WITH_DNNL=OFF")
    #:phases
    #~(modify-phases %standard-phases
        (replace 'build
          (lambda _ (invoke "ninja")))
        (replace 'install
          (lambda _ (invoke "ninja" "install"))))))
  ;; By name, whatever channel has them: starpu is in guix-hpc.
  (native-inputs (map specification->package '("ninja" "pkg-config")))
  (inputs (map specification->package
               '("cli11" "fmt" "hwloc" "metis" "nlohmann-json" "openblas" "scotch" "starpu"
                 "tl-expected" "zlib")))
  (synopsis "Plans and solves inside a bound on memory")
  (description
   "Task trees, graphs of operators and training steps are scheduled, and sparse linear
systems solved, inside a bound on the memory of the process.")
  (home-page "https://starpu.gitlabpages.inria.fr/")
  (license license:asl2.0))
